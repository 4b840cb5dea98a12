package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"rlmproxy/container/containertest"
	"rlmproxy/pipeline/script"
)

// TestNoNetwork: a program reaches neither a listener of this machine nor a name server.
func TestNoNetwork(t *testing.T) {
	e := engine(t, Options{})
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	reached := make(chan struct{}, 10)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			reached <- struct{}{}
			c.Close()
		}
	}()
	if c, err := net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	} else {
		c.Close()
		<-reached // as anybody else would
	}
	hosts := []string{"127.0.0.1", "localhost", "host.containers.internal", "host.docker.internal"}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil {
			hosts = append(hosts, ip.IP.String())
		}
	}
	given, err := json.Marshal(map[string]any{"hosts": hosts, "port": listener.Addr().(*net.TCPAddr).Port})
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.Run(t.Context(), script.Program{Arguments: given, Source: `
		const net = require("net"), dns = require("dns").promises, os = require("os")
		const connect = host => new Promise(done => net.connect({host, port: args.port, timeout: 3000})
			.on("connect", () => done("connected to " + host)).on("timeout", () => done()).on("error", () => done()))
		const found = (await Promise.all(args.hosts.map(connect))).filter(Boolean)
		for (const name of ["registry.npmjs.org", "example.com"]) try { found.push(await dns.lookup(name)) } catch {}
		try { found.push(await dns.resolve4("example.com")) } catch {}
		try { await fetch("http://" + args.hosts[0] + ":" + args.port); found.push("fetched") } catch {}
		return {found, interfaces: Object.keys(os.networkInterfaces())}`}, noHost)
	if want := `{"found":[],"interfaces":["lo"]}`; err != nil || string(out.Value) != want {
		t.Errorf("%s %v", out.Value, err)
	}
	select {
	case <-reached:
		t.Error("the listener was reached")
	default:
	}
}

// TestNothingOfTheMachine: a program has no rights, sees nothing of this machine and of the proxy's
// environment, and writes nothing but /tmp, which ends with it.
func TestNothingOfTheMachine(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"SECRET_TOKEN", "HTTP_PROXY", "https_proxy", "NO_PROXY", "NPM_CONFIG_REGISTRY"} {
		t.Setenv(name, "hunter2")
	}
	e := engine(t, Options{})
	given, err := json.Marshal(map[string]any{"secret": secret, "pid": os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	p := script.Program{Arguments: given, Source: `
		const fs = require("fs"), status = fs.readFileSync("/proc/self/status", "utf8")
		const field = name => status.match(new RegExp("^" + name + ":\\s*(\\S+)", "m"))[1]
		const wrote = ["/x", "/bin/x", "/etc/x", "/dev/shm/x", "/run/x", "/var/tmp/x", "/sys/x"].filter(f => { try { fs.writeFileSync(f, ""); return true } catch {} })
		const read = [args.secret, "/root", "/home", "/proc/1/root/etc/shadow", "/var/run/docker.sock", "/run/podman/podman.sock"].filter(f => { try { fs.readdirSync(f); return true } catch (e) { return e.code === "ENOTDIR" } })
		const before = fs.readdirSync("/tmp")
		fs.writeFileSync("/tmp/x", "x")
		return {uid: process.getuid(), caps: field("CapEff") + field("CapBnd") + field("CapPrm"), noNew: field("NoNewPrivs"), seccomp: field("Seccomp"),
			wrote, read, before, env: JSON.stringify(process.env).includes("hunter2"), pid: process.pid, processes: fs.readdirSync("/proc").filter(n => +n).length}`}
	zero := strings.Repeat("0", 48)
	for range 2 {
		out, err := e.Run(t.Context(), p, noHost)
		want := `{"uid":65534,"caps":"` + zero + `","noNew":"1","seccomp":"2","wrote":[],"read":[],"before":[],"env":false,"pid":1,"processes":1}`
		if err != nil || string(out.Value) != want {
			t.Errorf("%s\n%s %v", out.Value, want, err)
		}
	}
}

// running waits until a container of this process runs.
func running(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; {
		out, err := containertest.Podman("ps", "--format", "{{.Names}}")
		if err != nil || time.Now().After(end) {
			t.Fatal("no container runs", err)
		}
		if out != "" {
			return
		}
	}
}

func none(t *testing.T, what string) {
	t.Helper()
	if out, err := containertest.Podman("ps", "--all", "--format", "{{.Names}} {{.Status}}"); out != "" || err != nil {
		t.Errorf("%s: %s %v", what, out, err)
	}
}

// TestCancel: whenever a call is cancelled, or the proxy ends, the container and what was started
// for it are gone when Run returns.
func TestCancel(t *testing.T) {
	e := engine(t, Options{})
	if err := e.Check(t.Context(), script.Program{Source: "1"}); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	loop := script.Program{Source: `setInterval(() => {}, 1); process.on("SIGTERM", () => {}); for (;;) await call("wait").catch(() => {})`}
	waits := hostFunc(func(ctx context.Context, _ string, _ []json.RawMessage) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	for _, after := range []time.Duration{0, time.Millisecond, 50 * time.Millisecond, 200 * time.Millisecond} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(after, cancel) // at whatever moment of its start that is
		if _, err := e.Run(ctx, loop, waits); !errors.Is(err, context.Canceled) {
			t.Error(after, err)
		}
		none(t, fmt.Sprint("after ", after))
	}
	ended := make(chan error)
	go func() {
		_, err := e.Run(t.Context(), loop, waits)
		ended <- err
	}()
	running(t)
	e.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	none(t, "after Close")
	if _, err := e.Run(t.Context(), loop, waits); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
		}
	}
}

// TestOrphans: containers of processes that have ended are removed at the next start, those of
// others are not.
func TestOrphans(t *testing.T) {
	containertest.Start(t)
	create := func(name, machine string) {
		t.Helper()
		if _, err := containertest.Podman("create", "--name", name, "--label", label+"="+machine, containertest.Image, "node"); err != nil {
			t.Fatal(err)
		}
	}
	lives := fmt.Sprintf("rlmproxy-%d-aaaaaaaaaaaa-1", os.Getppid())
	create("rlmproxy-4194304-aaaaaaaaaaaa-1", machine()) // no process has an ID this large
	create(fmt.Sprintf("rlmproxy-%d-aaaaaaaaaaaa-1", os.Getpid()), machine())
	create(lives, machine())
	create("rlmproxy-4194304-aaaaaaaaaaaa-2", "another machine")
	create("mine", machine())
	e := New(Options{Image: containertest.Image, Dir: t.TempDir()})
	e.work.Wait()
	e.Close()
	out, err := containertest.Podman("ps", "--all", "--format", "{{.Names}}")
	left, want := strings.Fields(out), []string{"mine", "rlmproxy-4194304-aaaaaaaaaaaa-2", lives}
	slices.Sort(left)
	slices.Sort(want)
	if err != nil || !slices.Equal(left, want) {
		t.Errorf("%s\nwant\n%s\n%v", left, want, err)
	}
	if _, err := containertest.Podman("rm", "--all", "--force"); err != nil {
		t.Error(err)
	}
}

// TestUnavailable: where nothing can run containers, the error says what is missing.
func TestUnavailable(t *testing.T) {
	containertest.Start(t)
	run := func(opts Options) error {
		e := New(opts)
		defer e.Close()
		return e.Check(t.Context(), script.Program{Source: "1"})
	}
	err := run(Options{Image: "localhost/none:1"})
	if code(err) != Unavailable || !strings.HasPrefix(err.Error(), "the image localhost/none:1 is not here and cannot be fetched: podman pull: ") {
		t.Error(err)
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	err = run(Options{})
	if code(err) != Unavailable || !strings.HasPrefix(err.Error(), "podman is not installed; docker is not installed\nhint: tell the operator") || Installed() {
		t.Error(err)
	}
	for name, says := range map[string]string{"podman": "echo v1 true", "docker": "echo 'Cannot connect to the Docker daemon' >&2; exit 1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+says+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	err = run(Options{})
	want := "podman cannot bound the memory, CPU and processes of containers here; docker info: Cannot connect to the Docker daemon\n"
	if code(err) != Unavailable || !strings.HasPrefix(err.Error(), want) || !Installed() {
		t.Error(err)
	}
}

// TestDocker: what docker is asked to do, podman does as well: it takes docker's commands and flags.
func TestDocker(t *testing.T) {
	e := engine(t, Options{})
	dir := t.TempDir()
	docker := "#!/bin/sh\ncase $1 in info) echo true true true;; *) exec podman \"$@\";; esac\n"
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(docker), 0o755); err != nil {
		t.Fatal(err)
	}
	e.mu.Lock()
	e.preparing = &preparation{done: make(chan struct{}), program: &program{"docker", filepath.Join(dir, "docker")}}
	close(e.preparing.done)
	e.mu.Unlock()
	if err := e.preparing.program.works(t.Context()); err != nil {
		t.Error(err)
	}
	out, err := e.Run(t.Context(), script.Program{Source: "return await call('t')"}, hostFunc(func(context.Context, string, []json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage("5"), nil
	}))
	if err != nil || string(out.Value) != "5" {
		t.Errorf("%s %v", out.Value, err)
	}
}
