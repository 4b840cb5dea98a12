package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"rlmproxy/pipeline/show"
)

// A program is podman or docker: they take the same commands, but for a few flags.
type program struct {
	name string
	path string
}

// commandTime bounds a command that only asks or removes.
const commandTime = 30 * time.Second

// output runs a command to its end and returns what it wrote, 64 KiB at most.
func (p *program) output(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, p.path, args...)
	cmd.Dir = os.TempDir() // the proxy's own may be gone, without which nothing starts
	isolate(cmd)
	cmd.WaitDelay = time.Second
	out, errs := &first{}, &tail{}
	cmd.Stdout, cmd.Stderr = out, errs
	if err := cmd.Run(); err != nil {
		return "", p.failure(args[0], errs.String(), err)
	}
	return out.String(), nil
}

// failure is why a command of p failed: its last line, if it has written any.
func (p *program) failure(command, stderr string, err error) error {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return fmt.Errorf("%s %s: %s", p.name, command, show.Clip(strings.TrimPrefix(last, "Error: "), 300))
	}
	return fmt.Errorf("%s %s: %w", p.name, command, err)
}

// Installed reports whether there is a program that an [Engine] may run containers with.
func Installed() bool {
	_, podman := exec.LookPath("podman")
	_, docker := exec.LookPath("docker")
	return podman == nil || docker == nil
}

// find returns podman if it works here, else docker.
func find(ctx context.Context) (*program, error) {
	var errs []error
	for _, name := range []string{"podman", "docker"} {
		path, err := exec.LookPath(name)
		if err == nil {
			p := &program{name, path}
			if err = p.works(ctx); err == nil {
				return p, nil
			}
		} else if errors.Is(err, exec.ErrNotFound) {
			err = fmt.Errorf("%s is not installed", name)
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("%w; %w", errs[0], errs[1])
}

// works asks p whether it can run containers with bounds. Without root and with version 1 of
// cgroups, podman would run them without; docker does where the kernel lacks them.
func (p *program) works(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	format, without := "{{.Host.CgroupsVersion}} {{.Host.Security.Rootless}}", "v1 true"
	if p.name == "docker" {
		format, without = "{{.MemoryLimit}} {{.CPUCfsQuota}} {{.PidsLimit}}", "false"
	}
	out, err := p.output(ctx, "info", "--format", format)
	if err == nil && strings.Contains(out, without) {
		err = fmt.Errorf("%s cannot bound the memory, CPU and processes of containers here", p.name)
	}
	return err
}

// first keeps the first 64 KiB of what is written to it.
type first struct{ bytes.Buffer }

func (f *first) Write(b []byte) (int, error) {
	if room := 64<<10 - f.Len(); room > 0 {
		f.Buffer.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

// tail keeps the last 16 to 32 KiB of what is written to it. It is safe for concurrent use.
type tail struct {
	mu   sync.Mutex // guards the field below
	kept []byte
}

var _ io.Writer = (*tail)(nil)

func (t *tail) Write(b []byte) (int, error) {
	const keep = 16 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b[max(0, len(b)-2*keep):]...)
	if len(t.kept) > 2*keep {
		t.kept = bytes.Clone(t.kept[len(t.kept)-keep:])
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
