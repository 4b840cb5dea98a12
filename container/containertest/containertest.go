// Package containertest has podman run containers for tests, with an image made of what is on this
// machine: node, npm, sh and tar. Nothing is fetched, and nothing else of podman's is touched.
package containertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Image is the name of the image.
const Image = "localhost/rlmproxy-test"

// dir has all of podman's, empty: it was not needed yet. With the driver overlay a container starts
// in half a second, with vfs it copies the image first, but that works everywhere.
var (
	dir    string
	driver = "overlay"
)

// Main runs the tests of a package that calls [Start], for TestMain.
func Main(m *testing.M) int {
	code := m.Run()
	if err := Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

// Remove removes all that [Start] has made, for who has no [Main]: then no more tests may start.
// It is an error that containers are left.
func Remove() (err error) {
	if dir == "" {
		return nil
	}
	left, err := Podman("ps", "--all", "--format", "{{.Names}} {{.Status}}")
	if left != "" {
		err = fmt.Errorf("containers are left: %s", left)
	}
	_, _ = Podman("rm", "--all", "--force", "--time", "0")
	_, _ = Podman("rmi", "--all", "--force")
	return errors.Join(err, os.RemoveAll(dir))
}

// Start makes the image at the first time, and has podman know it until the test ends. Without
// podman, runc or Node.js the test is skipped, or fails where RLMPROXY_E2E=required.
func Start(t testing.TB) {
	t.Helper()
	var missing []string
	for _, name := range []string{"podman", "runc", "node", "npm", "tar", "ldd"} {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		if os.Getenv("RLMPROXY_E2E") == "required" {
			t.Fatalf("%s missing", missing)
		}
		t.Skipf("%s missing", missing)
	}
	err := prepare()
	if err == nil {
		err = made()
	}
	for name, value := range environment() {
		t.Setenv(name, value)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// environment has podman keep everything in dir.
func environment() map[string]string {
	return map[string]string{"CONTAINERS_CONF": filepath.Join(dir, "containers.conf"),
		"CONTAINERS_STORAGE_CONF": filepath.Join(dir, "storage.conf"), "STORAGE_DRIVER": driver}
}

// prepare writes settings with which podman works within other containers and virtual machines too:
// these may not raise limits. The network is the machine's where nothing says otherwise, so that
// npm reaches a registry of the test.
var prepare = sync.OnceValue(func() (err error) {
	if dir, err = os.MkdirTemp("", "podman"); err != nil {
		return err
	}
	conf := `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
netns = "host"
[engine]
runtime = "runc"
`
	if os.Getuid() == 0 {
		conf += "cgroup_manager = \"cgroupfs\"\n"
	}
	storage := fmt.Sprintf("[storage]\ngraphroot = %q\nrunroot = %q\n", filepath.Join(dir, "graph"), filepath.Join(dir, "run"))
	return errors.Join(os.WriteFile(filepath.Join(dir, "containers.conf"), []byte(conf), 0o600),
		os.WriteFile(filepath.Join(dir, "storage.conf"), []byte(storage), 0o600))
})

// made makes the image.
var made = sync.OnceValue(func() error {
	if _, err := Podman("info"); err != nil {
		driver = "vfs"
	}
	r, w := io.Pipe()
	cmd := podman("import", "--quiet", "-", Image)
	cmd.Stdin = r
	go func() { w.CloseWithError(files(w)) }()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("podman import: %w: %s", err, out)
	}
	return nil
})

// Podman runs podman on what is the tests', and returns what it writes.
func Podman(args ...string) (string, error) {
	out, err := podman(args...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("podman %s: %w: %s", args[0], err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

func podman(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), "podman", args...)
	cmd.Env = os.Environ()
	for name, value := range environment() {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}
