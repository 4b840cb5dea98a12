package container

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// label marks containers of proxies. Its value is the machine's name: one docker may serve several.
const label = "rlmproxy"

// A name of a container has the ID of the process that started it, and a token that tells that
// process from a later one of the same ID.
var (
	names = regexp.MustCompile(`^rlmproxy-(\d+)-([0-9a-f]+)-[0-9a-f]+$`)
	token = random()
)

func newName() string { return fmt.Sprintf("rlmproxy-%d-%s-%s", os.Getpid(), token, random()) }

func random() string {
	var b [6]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// orphaned reports whether the process has ended that started the container of this name.
func orphaned(name string) bool {
	m := names.FindStringSubmatch(name)
	if m == nil {
		return false
	}
	pid, err := strconv.Atoi(m[1])
	if pid == os.Getpid() {
		return m[2] != token
	}
	return err == nil && !alive(pid)
}

func machine() string {
	name, _ := os.Hostname()
	return name
}

// wasUsed reports whether an engine has used the folder before.
func (e *Engine) wasUsed() bool {
	_, err := os.Stat(e.opts.Dir)
	return err == nil
}

// removeOrphans removes containers of processes that have ended.
func (e *Engine) removeOrphans() {
	ctx, cancel := context.WithTimeout(e.ctx, 2*commandTime)
	defer cancel()
	e.removeOldFolders()
	p, err := find(ctx)
	if err != nil {
		return // which the first program says
	}
	found, err := p.output(ctx, "ps", "--all", "--filter", "label="+label+"="+machine(), "--format", "{{.Names}}")
	if err != nil {
		e.opts.Logger.Warn("containers that a proxy left cannot be looked for", "error", err)
	}
	for name := range strings.FieldsSeq(found) {
		if !orphaned(name) {
			continue
		}
		_, _ = p.output(ctx, "kill", "--signal", "KILL", name) // rm alone would ask it first, and wait
		if _, err := p.output(ctx, "rm", "--force", name); err != nil {
			e.opts.Logger.Warn("a container that a proxy left cannot be removed", "container", name, "error", err)
			continue
		}
		e.opts.Logger.Info("a container that a proxy left was removed", "container", name)
	}
}
