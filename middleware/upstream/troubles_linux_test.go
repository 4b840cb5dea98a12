package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestProcessTroubles: real servers that are killed, end in a call, take nothing more and
// do not start, under load: each call is answered, and no process and no file is left.
func TestProcessTroubles(t *testing.T) {
	run(t, "well", Options{}).Settled(t.Context()) // what is opened once and kept, say for polling
	files, children := openFiles(t), childrenOf(t, os.Getpid())
	var ups []*Upstream
	var work sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), 1200*time.Millisecond)
	defer cancel()
	for i, how := range []string{"well", "well", "well", "dead", "stubborn", "silent"} {
		u := run(t, how, Options{MinBackoff: 20 * time.Millisecond, ConnectTimeout: 10 * time.Second})
		ups = append(ups, u)
		for range 2 {
			work.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					what := toolCall("echo", "1")
					switch {
					case i == 1 && n%5 == 4:
						what = toolCall("die", "1")
					case i == 2 && n%5 == 4:
						kill(u)
					}
					one, end := context.WithTimeout(ctx, 2*time.Second)
					_, err := u.Call(one, what)
					end()
					if i == 0 && err != nil && ctx.Err() == nil {
						t.Errorf("the healthy one: %v", err)
					}
					var down *UnavailableError
					if err != nil && ctx.Err() == nil && !errors.As(err, &down) {
						t.Errorf("%s: %v", how, err)
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
	}
	work.Wait()
	var closing sync.WaitGroup
	for _, u := range ups {
		closing.Go(u.Close)
	}
	closing.Wait()
	eventually(t, "files are closed", func() bool { return openFiles(t) <= files })
	eventually(t, "processes have ended", func() bool { return childrenOf(t, os.Getpid()) <= children })
}

// kill ends the server of u, if it is there.
func kill(u *Upstream) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	raw, err := u.Call(ctx, toolCall("pid", `{}`))
	var r struct{ PID int }
	if err == nil && json.Unmarshal(raw, &r) == nil && r.PID > 1 {
		_ = syscall.Kill(r.PID, syscall.SIGKILL)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// childrenOf counts the processes below a process that are not zombies.
func childrenOf(t *testing.T, pid int) (n int) {
	t.Helper()
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	parents := map[int]int{}
	for _, stat := range stats {
		raw, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(raw), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[0] != "Z" {
			id, _ := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
			parents[id], _ = strconv.Atoi(f[1])
		}
	}
	for id := range parents {
		for up := parents[id]; up > 1; up = parents[up] {
			if up == pid {
				n++
				break
			}
		}
	}
	return n
}
