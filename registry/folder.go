package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"rlmproxy/private"
)

// A Folder is a store in a folder that only its owner reads. Several processes may use it.
type Folder struct{ dir string }

var _ Store = (*Folder)(nil)

const (
	fileVersion = 1
	maxFile     = MaxTools * maxTool
	// lookEvery is how often a process looks whether another has changed the file.
	lookEvery = 300 * time.Millisecond
)

// A file is what the folder has.
type file struct {
	Version  int               `json:"version"`
	Revision int64             `json:"revision"` // the last one given out
	Tools    []json.RawMessage `json:"tools"`
}

// OpenFolder opens the folder tools of a state folder, which it makes.
func OpenFolder(stateDir string) (*Folder, error) {
	f := &Folder{filepath.Join(stateDir, "tools")}
	return f, private.Open(f.dir, "could change the tools of agents", false)
}

// Close implements [Store].
func (f *Folder) Close() {}

func (f *Folder) path() string { return filepath.Join(f.dir, "tools.json") }

// read returns what there is, and the tools in it.
func (f *Folder) read() (content file, tools []Tool, bad []error, err error) {
	away := func(err error) error { return &AwayError{f.path(), err} }
	err = private.CheckFile(f.path())
	if errors.Is(err, fs.ErrNotExist) {
		return file{Version: fileVersion}, nil, nil, nil
	}
	var data []byte
	if err == nil {
		data, err = private.Read(f.path(), maxFile)
	}
	if err != nil {
		return content, nil, nil, away(err)
	}
	if err := json.Unmarshal(data, &content); err != nil {
		return content, nil, nil, away(fmt.Errorf("it is damaged: %w", err))
	}
	if content.Version != fileVersion {
		return content, nil, nil, away(fmt.Errorf("it is of version %d, and this program reads version %d", content.Version, fileVersion))
	}
	seen := map[string]bool{}
	for _, one := range content.Tools {
		var named struct{ Name string }
		_ = json.Unmarshal(one, &named) // or it is no tool, which read says
		t, err := read(named.Name, one)
		if err == nil && seen[t.Name] {
			err = fmt.Errorf("tool %q: it is there twice", t.Name)
		}
		if err != nil {
			bad = append(bad, err)
			continue
		}
		seen[t.Name] = true
		tools = append(tools, t)
		content.Revision = max(content.Revision, t.Revision)
	}
	return content, tools, bad, nil
}

// List implements [Store].
func (f *Folder) List(context.Context) ([]Tool, error) {
	_, tools, bad, err := f.read()
	if err != nil {
		return nil, err
	}
	return listed(tools, bad)
}

// Put implements [Store].
func (f *Folder) Put(_ context.Context, t Tool, revision int64) (Tool, error) {
	err := f.change(t.Name, revision, func(content *file) ([]byte, error) {
		content.Revision++
		t.Revision = content.Revision
		return json.Marshal(t)
	})
	return t, err
}

// Delete implements [Store].
func (f *Folder) Delete(_ context.Context, name string, revision int64) error {
	return f.change(name, revision, func(*file) ([]byte, error) { return nil, nil })
}

// change has a tool replaced by what made returns, nothing for nil. Entries that are no tools
// stay as they are: they may be a later version's.
func (f *Folder) change(name string, revision int64, made func(*file) ([]byte, error)) error {
	unlock, err := private.LockFolder(f.dir)
	if err != nil {
		return &AwayError{f.dir, err}
	}
	defer unlock()
	content, tools, _, err := f.read()
	if err != nil {
		return err
	}
	last := int64(0)
	for _, t := range tools {
		if t.Name == name {
			last = t.Revision
		}
	}
	if err := permits(revision, last, len(content.Tools)); err != nil {
		return err
	}
	next, err := made(&content)
	if err != nil {
		return err
	}
	var kept []json.RawMessage
	for _, one := range content.Tools {
		var named struct{ Name string }
		if json.Unmarshal(one, &named) != nil || named.Name != name {
			kept = append(kept, one)
		}
	}
	if next != nil {
		kept = append(kept, next)
	}
	content.Tools = kept
	data, err := json.Marshal(content)
	if err == nil {
		err = private.Replace(f.path(), append(data, '\n'))
	}
	if err != nil {
		return &AwayError{f.path(), err}
	}
	return nil
}

// Follow implements [Store].
func (f *Folder) Follow(ctx context.Context, changed func()) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	last, _ := os.Stat(f.path())
	changed()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		now, _ := os.Stat(f.path()) // nil: it is not there
		if !same(last, now) {
			last = now
			changed()
		}
	}
}

// same reports whether a file is as it was. One that is replaced as a whole is another file.
func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
