package private

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestRead: what is no file is not opened, and a bound is kept to the byte.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, make([]byte, 2048), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path  string
		most  int64
		want  error
		about string
	}{
		{file, 2048, nil, ""},
		{file, 2047, ErrLarger, "the file is larger than 2 KiB"},
		{file, 1024, ErrLarger, "the file is larger than 1 KiB"},
		{dir, 2048, ErrFolder, "a folder, not a file"},
		{os.DevNull, 2048, ErrDevice, "a pipe, socket or device, not a file"},
		{filepath.Join(dir, "none"), 2048, fs.ErrNotExist, ""},
	} {
		data, err := Read(c.path, c.most)
		if !errors.Is(err, c.want) || c.want == nil && len(data) != 2048 {
			t.Errorf("%s, at most %d: %d bytes, %v", c.path, c.most, len(data), err)
		}
		pathErr, ok := errors.AsType[*fs.PathError](err)
		if err != nil && (!ok || pathErr.Path != c.path || c.about != "" && pathErr.Err.Error() != c.about) {
			t.Errorf("%s, at most %d: %v", c.path, c.most, err)
		}
	}
}
