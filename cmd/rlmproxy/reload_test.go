package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestReread: what is taken over of a file that is written in the ways in which editors and
// Kubernetes write, and when.
func TestReread(t *testing.T) {
	for _, tt := range []struct {
		name  string
		write func(t *testing.T, dir string) // at the time 2.5 s
		want  []string                       // what is taken, "-" where there is no file, and "again" for a signal
	}{
		{"nothing", func(*testing.T, string) {}, []string{"one"}},
		{"in place", func(t *testing.T, dir string) { put(t, dir+"/file", "two") }, []string{"one", "two"}},
		{"in place, of the same length and time", func(t *testing.T, dir string) {
			info, err := os.Stat(dir + "/file")
			put(t, dir+"/file", "eno")
			if err != nil || os.Chtimes(dir+"/file", info.ModTime(), info.ModTime()) != nil {
				t.Fatal(err)
			}
		}, []string{"one", "eno"}},
		{"half, then the rest a second later", func(t *testing.T, dir string) {
			put(t, dir+"/file", "t")
			time.AfterFunc(time.Second, func() { put(t, dir+"/file", "two") })
		}, []string{"one", "two"}},
		{"by a rename", func(t *testing.T, dir string) {
			put(t, dir+"/new", "two")
			if err := os.Rename(dir+"/new", dir+"/file"); err != nil {
				t.Fatal(err)
			}
		}, []string{"one", "two"}},
		{"away for a moment, as an editor's backup", func(t *testing.T, dir string) {
			if err := os.Remove(dir + "/file"); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(time.Second, func() { put(t, dir+"/file", "two") })
		}, []string{"one", "two"}},
		{"away for good", func(t *testing.T, dir string) { os.Remove(dir + "/file") }, []string{"one", "-"}},
		{"a folder in its place", func(t *testing.T, dir string) {
			os.Remove(dir + "/file")
			if err := os.Mkdir(dir+"/file", 0o700); err != nil {
				t.Fatal(err)
			}
		}, []string{"one", "-"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(dir, "file")
				put(t, path, "one")
				var got []string
				f := &reread{path: path, take: func(bool) {
					data, err := os.ReadFile(path)
					if err != nil {
						data = []byte("-")
					}
					got = append(got, string(data))
				}}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan bool)
				go func() {
					defer close(ended)
					rereadAll(ctx, nil, f)
				}()
				time.Sleep(2500 * time.Millisecond)
				tt.write(t, dir)
				time.Sleep(5 * time.Second)
				cancel()
				<-ended
				if len(got) != len(tt.want) || got[len(got)-1] != tt.want[len(got)-1] {
					t.Errorf("took %q, want %q", got, tt.want)
				}
			})
		})
	}
}

// TestRereadLink: Kubernetes turns a link to a folder round. And a signal has a file taken at
// once.
func TestRereadLink(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, name, "file"), name)
	}
	if err := os.Symlink("a", dir+"/data"); err != nil {
		t.Skip(err)
	}
	synctest.Test(t, func(t *testing.T) {
		got := ""
		path := filepath.Join(dir, "data", "file")
		f := &reread{path: path, take: func(bool) {
			data, _ := os.ReadFile(path)
			got += string(data)
		}}
		ctx, cancel := context.WithCancel(t.Context())
		asked := make(chan struct{})
		ended := make(chan bool)
		go func() {
			defer close(ended)
			rereadAll(ctx, asked, f)
		}()
		time.Sleep(3 * time.Second)
		if err := os.Symlink("b", dir+"/new"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(dir+"/new", dir+"/data"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		asked <- struct{}{}
		time.Sleep(askedPause)
		synctest.Wait()
		cancel()
		<-ended
		if got != "abb" {
			t.Errorf("took %q, want a, b, and b when asked", got)
		}
	})
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Error(err)
	}
}
