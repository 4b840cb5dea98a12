package keyring

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/zalando/go-keyring"
)

func TestMain(m *testing.M) {
	reachable = func() bool { return true } // which is a mock
	keyring.MockInit()
	os.Exit(m.Run())
}

// TestWhereSecretsGo: into the system's keyring where it answers and takes them, else into
// a file that is the user's alone.
func TestWhereSecretsGo(t *testing.T) {
	long := strings.Repeat("s", 3000)
	for _, c := range []struct {
		name   string
		system error
		secret string
		inFile bool
	}{
		{"in the keyring", nil, "hunter2", false},
		{"too large for it", nil, long, true},
		{"no keyring", errNone, "hunter2", true},
		{"a keyring that fails", errors.New("org.freedesktop.DBus.Error.ServiceUnknown"), "hunter2", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			keyring.MockInit()
			if c.system != nil {
				keyring.MockInitWithError(c.system)
			}
			dir := filepath.Join(t.TempDir(), "state")
			r := Open(dir)
			if err := r.Set("api", c.secret); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(filepath.Join(dir, "secrets.json"))
			if (err == nil) != c.inFile || (r.Where("api") == filepath.Join(dir, "secrets.json")) != c.inFile {
				t.Errorf("in the file: %v, Where says %s", err == nil, r.Where("api"))
			}
			if err == nil && runtime.GOOS != "windows" && info.Mode() != 0o600 {
				t.Errorf("mode %v", info.Mode())
			}
			if got, err := Open(dir).Get("api"); got != c.secret || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
			if err := r.Delete("api"); err != nil {
				t.Error(err)
			}
			if _, err := r.Get("api"); !errors.Is(err, ErrNotFound) {
				t.Errorf("after Delete: %v", err)
			}
			if err := r.Delete("api"); !errors.Is(err, ErrNotFound) {
				t.Errorf("the second Delete: %v", err)
			}
		})
	}
}

// TestLastSetCounts: a secret that was set while there was no keyring, and again when there
// is one, is the later one, in one place.
func TestLastSetCounts(t *testing.T) {
	r := Open(t.TempDir())
	for i, system := range []bool{true, false, true} {
		secret := fmt.Sprint("secret", i)
		if reachable = func() bool { return system }; i == 0 {
			keyring.MockInit()
		}
		if err := r.Set("api", secret); err != nil {
			t.Fatal(err)
		}
		reachable = func() bool { return true }
		if got, err := r.Get("api"); got != secret || err != nil {
			t.Errorf("got %q, %v, want %s", got, err, secret)
		}
	}
	if secrets, _ := r.file.load(); len(secrets) != 0 {
		t.Error("the file still has it")
	}
}

// TestAskedForPassword: a keyring that waits for a person delays us once, and is asked
// again when it has answered.
func TestAskedForPassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Open(t.TempDir())
		answered := make(chan struct{})
		hang := func() (string, error) { <-answered; return "", nil }
		for range 3 {
			if _, err := r.ask(hang); !errors.Is(err, errLate) {
				t.Fatal(err)
			}
		}
		if err := r.Delete("api"); !errors.Is(err, errLate) {
			t.Errorf("Delete: %v", err)
		}
		if err := r.Set("api", "hunter2"); err != nil || r.Where("api") != r.file.path {
			t.Errorf("Set: %v", err)
		}
		close(answered)
		synctest.Wait()
		if _, err := r.ask(func() (string, error) { return "", nil }); err != nil {
			t.Error(err)
		}
	})
}

// TestBadFiles: a file that others could have read or written, or that is not ours, is an
// error without its content, and is left as it is.
func TestBadFiles(t *testing.T) {
	for _, c := range []struct {
		name, text string
		mode, dir  os.FileMode
	}{
		{"torn", `{"version":1,"secrets":{"api":"aHVud`, 0o600, 0o700},
		{"foreign", `{"hunter2":[]}`, 0o600, 0o700},
		{"of a later version", `{"version":2,"secrets":{}}`, 0o600, 0o700},
		{"not base64", `{"version":1,"secrets":{"api":"hunter2!"}}`, 0o600, 0o700},
		{"others can read", `{"version":1,"secrets":{}}`, 0o640, 0o700},
		{"others can write the folder", `{"version":1,"secrets":{}}`, 0o600, 0o770},
	} {
		if runtime.GOOS == "windows" && (c.mode != 0o600 || c.dir != 0o700) {
			continue
		}
		dir := t.TempDir()
		path := filepath.Join(dir, "secrets.json")
		if err := errors.Join(os.WriteFile(path, []byte(c.text), c.mode), os.Chmod(dir, c.dir)); err != nil {
			t.Fatal(err)
		}
		r := Open(dir)
		_, err := r.Get("api")
		setting := r.Set("api", strings.Repeat("s", largest+1))
		for _, err := range []error{err, setting} {
			if err == nil || errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if b, _ := os.ReadFile(path); string(b) != c.text {
			t.Errorf("%s: the file was changed", c.name)
		}
	}
}

func TestBadNames(t *testing.T) {
	r := Open(t.TempDir())
	for _, name := range []string{"", "a b", "a\nb", "a}", "é", strings.Repeat("n", 201)} {
		if r.Set(name, "hunter2") == nil {
			t.Errorf("%q is a name", name)
		}
	}
	if r.Set("api", "") == nil || r.Set("api", strings.Repeat("s", maxSecret+1)) == nil {
		t.Error("secrets without bounds")
	}
}

// TestAtOnce: what many set at once is all there.
func TestAtOnce(t *testing.T) {
	keyring.MockInitWithError(errNone)
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := Open(dir).Set(fmt.Sprint("s", i), "x"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if secrets, err := Open(dir).file.load(); len(secrets) != 8 || err != nil {
		t.Errorf("%d secrets, %v", len(secrets), err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}
