//go:build unix

package web

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestListenUnix: what is at the path, and what becomes of it.
func TestListenUnix(t *testing.T) {
	listen := func(path string, mode os.FileMode) (net.Listener, error) {
		t.Helper()
		l, err := ListenUnix(path, mode)
		if l != nil {
			t.Cleanup(func() { l.Close() })
		}
		return l, err
	}
	dir := t.TempDir()
	for i, tt := range []struct {
		what string
		make func(path string) error
		mode os.FileMode
		want string // the error, or none
	}{
		{"nothing", func(string) error { return nil }, 0o600, ""},
		{"nothing, and a group may come", func(string) error { return nil }, 0o660, ""},
		{"a stale socket", func(path string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
			if err == nil {
				l.SetUnlinkOnClose(false)
				l.Close()
			}
			return err
		}, 0o600, ""},
		{"a socket on which somebody listens", func(path string) error { _, err := listen(path, 0o600); return err }, 0o600, "another program listens there already"},
		{"a file", func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) }, 0o600, "it exists, and is not a socket"},
		{"a link to a socket", func(path string) error {
			if _, err := listen(path+"x", 0o600); err != nil {
				return err
			}
			return os.Symlink(path+"x", path)
		}, 0o600, "it exists, and is not a socket"},
		{"a folder", func(path string) error { return os.Mkdir(path, 0o700) }, 0o600, "it exists, and is not a socket"},
	} {
		path := filepath.Join(dir, string(rune('a'+i)))
		if err := tt.make(path); err != nil {
			t.Fatal(err)
		}
		l, err := listen(path, tt.mode)
		if tt.want != "" {
			if err == nil || err.Error() != path+": "+tt.want {
				t.Errorf("%s: %v, want %s", tt.what, err, tt.want)
			}
			if _, err := os.Lstat(path); err != nil {
				t.Errorf("%s: it is gone: %v", tt.what, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.what, err)
			continue
		}
		if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeSocket|tt.mode {
			t.Errorf("%s: %v %v, want %v", tt.what, info.Mode(), err, tt.mode)
		}
		l.Close()
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s: it is left: %v", tt.what, err)
		}
	}
	for path, want := range map[string]string{
		"":                                "the path of the socket is missing",
		"@abstract":                       "a socket without a file has no permissions",
		"/" + strings.Repeat("x", 103):    "the path of the socket has 104 bytes; 103 are allowed",
		filepath.Join(dir, "no", "where"): "no such file or directory",
	} {
		if _, err := listen(path, 0o600); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", path, err, want)
		}
	}
}

// TestPeerOfSocket: on a socket that several users may use, addresses are alike; who has
// connected is known by the user where the system says it.
func TestPeerOfSocket(t *testing.T) {
	l, err := ListenUnix(filepath.Join(t.TempDir(), "s"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	served, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer served.Close()
	got, _ := withPeer(t.Context(), served).Value(peerKey{}).(string)
	if want := peerName(served); got != want || want != "" && !strings.HasPrefix(want, "uid:") {
		t.Errorf("%q, want %q", got, want)
	}
}
