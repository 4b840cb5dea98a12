package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"
)

// A file is one that rotates: FILE is renamed to FILE.1 when it is full, FILE.1 to FILE.2
// and so on. Several proxies may write to one file: each line is appended by one write,
// and who finds that another has renamed the file opens the new one.
//
// The libraries for this (lumberjack) leave a goroutine behind, and know nothing of each
// other nor of half a line that a full disk leaves.
type file struct {
	path  string
	max   int64 // bytes
	files int   // that are kept beside

	f      *os.File
	looked time.Time // when f was known to be the file at path
	torn   bool      // the last line is half there
	stuck  bool      // it could not be rotated, which the log has
	logger *slog.Logger
}

// lookPause is how long it may take until a file that was renamed is noticed.
const lookPause = time.Second

// openFile opens a file for appending, or makes one that only its owner reads.
func openFile(path string, max int64, files int, logger *slog.Logger) (*file, error) {
	f := &file{path: path, max: max, files: files, logger: logger}
	return f, f.open(0o600)
}

func (f *file) open(mode fs.FileMode) error {
	// A FIFO or a device would block, or lose what is written.
	if info, err := os.Stat(f.path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", f.path)
	}
	opened, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, mode)
	if err != nil {
		return err
	}
	f.f, f.looked = opened, time.Now()
	return nil
}

// Write appends a line.
func (f *file) Write(line []byte) (int, error) {
	size, err := f.ready()
	if err != nil {
		return 0, err
	}
	if size > 0 && size+int64(len(line)) > f.max {
		err := f.rotate()
		if f.f == nil {
			return 0, err
		}
		if err != nil && !f.stuck {
			f.logger.Error("audit: the file cannot be renamed, so it grows", "error", err)
		}
		f.stuck = err != nil
	}
	if f.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := f.f.Write(line)
	f.torn = err != nil && (n > 0 || f.torn)
	return n, err
}

// ready sees to it that f.f is the file at f.path, and returns its size.
func (f *file) ready() (size int64, err error) {
	if f.f != nil && time.Since(f.looked) >= lookPause {
		f.looked = time.Now()
		if !f.current() {
			f.f.Close()
			f.f = nil
		}
	}
	if f.f == nil {
		if err := f.open(0o600); err != nil {
			return 0, err
		}
	}
	info, err := f.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// current reports whether f.f is the file at f.path: nobody has renamed or deleted it.
func (f *file) current() bool {
	ours, err := f.f.Stat()
	theirs, err2 := os.Stat(f.path)
	return err == nil && err2 == nil && os.SameFile(ours, theirs)
}

// rotate renames the files and begins a new one, as readable as the last. If it cannot,
// the old one goes on: lines are worth more than the bound.
func (f *file) rotate() error {
	mode := fs.FileMode(0o600)
	if info, err := f.f.Stat(); err == nil {
		mode = info.Mode().Perm()
	}
	ours := f.current() // else another has done it
	f.f.Close()         // an open file cannot be renamed on Windows
	f.f = nil
	var failed error
	if ours {
		failed = f.shift()
	}
	return errors.Join(failed, f.open(mode))
}

// shift renames FILE to FILE.1, and so on, and drops the oldest.
func (f *file) shift() error {
	name := func(n int) string {
		if n == 0 {
			return f.path
		}
		return fmt.Sprintf("%s.%d", f.path, n)
	}
	if f.files == 0 {
		return os.Remove(f.path)
	}
	for n := f.files - 1; n >= 0; n-- {
		if err := os.Rename(name(n), name(n+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Close closes the file.
func (f *file) Close() error {
	if f.f == nil {
		return nil
	}
	return f.f.Close()
}
