package container

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/dustin/go-humanize"

	"rlmproxy/pipeline/show"
)

// errNothing says that a tar has not even a beginning: what was to write it has failed.
var errNothing = errors.New("there is nothing in it")

// extract makes the files of a tar, which may be anybody's, in folder. All can read them, nobody
// run them; links and devices are left out. The tar, and the files in it, have at most so many bytes.
func extract(r io.Reader, folder string, maxBytes int64) error {
	root, err := os.OpenRoot(folder) // which no name leads out of
	if err != nil {
		return err
	}
	defer root.Close()
	limited := &io.LimitedReader{R: r, N: maxBytes}
	files := tar.NewReader(limited)
	for n := 0; ; n++ {
		head, err := files.Next()
		switch {
		case limited.N == 0:
			return fmt.Errorf("they take more than %s", humanize.IBytes(uint64(maxBytes)))
		case err == io.EOF && n == 0:
			return errNothing
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("reading them: %w", err)
		case n == maxFiles:
			return fmt.Errorf("they have more than %s files", show.Count(maxFiles))
		}
		name := path.Clean(head.Name)
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("a file has the name %s", show.Quote(show.Clip(head.Name, 100)))
		}
		switch head.Typeflag {
		case tar.TypeDir:
			err = makeDir(root, name)
		case tar.TypeReg:
			if err = makeDir(root, path.Dir(name)); err == nil {
				err = makeFile(root, name, files)
			}
		}
		if limited.N == 0 {
			continue // to say so
		}
		if err != nil {
			return err
		}
	}
}

func makeDir(root *os.Root, name string) error {
	if name == "." {
		return nil
	}
	err := root.MkdirAll(name, 0o755)
	if err == nil {
		err = root.Chmod(name, 0o755) // whatever the umask
	}
	return err
}

func makeFile(root *os.Root, name string, r io.Reader) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}
