package main

import (
	"context"
	"crypto/sha256"
	"time"

	"rlmproxy/private"
)

// rereadPause is how often files are looked at that count while the proxy runs.
const rereadPause = time.Second

// maxRereadBytes bounds what is compared of a file. Those who take one have bounds of their own.
const maxRereadBytes = 8 << 20

// A reread is a file that is read again when it changes. Its content is compared, not its
// time or its place: that holds for editors that rename, and for Kubernetes, which turns a
// link round.
type reread struct {
	path string
	take func(asked bool) // takes the file over, or logs why not; asked: by a signal

	seen, taken [sha256.Size]byte
}

// askedPause is how long a file that is asked for has to stay the same, which whoever
// signals may still be writing.
const askedPause = 100 * time.Millisecond

// rereadAll looks at files until ctx ends, each second and when asked.
func rereadAll(ctx context.Context, asked <-chan struct{}, files ...*reread) {
	tick := time.NewTicker(rereadPause)
	defer tick.Stop()
	for {
		now := false
		select {
		case <-ctx.Done():
			return
		case <-asked:
			now = true
			for _, f := range files {
				f.seen = fileSum(f.path)
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(askedPause):
			}
		case <-tick.C:
		}
		for _, f := range files {
			f.look(now)
		}
	}
}

// rereading has mcp.json and other files read again until the function that it returns is
// called, which waits for the end of that.
func (c *cli) rereading(ctx context.Context, t *takeover, files ...*reread) (stop func()) {
	if t.load != nil {
		files = append(files, &reread{path: t.stack.cfg.Path, take: t.take})
	}
	if files == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	asked := c.hangups.take()
	go func() {
		defer close(ended)
		rereadAll(ctx, asked, files...)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// look takes the file over if it has changed and then stayed the same for once: it may
// have been half written.
func (f *reread) look(asked bool) {
	sum := fileSum(f.path)
	settled := sum == f.seen
	f.seen = sum
	if settled && (asked || sum != f.taken) { // else the next second sees it
		f.taken = sum
		f.take(asked)
	}
}

// fileSum is of the content of a file, or of why it cannot be read.
func fileSum(path string) [sha256.Size]byte {
	data, err := private.Read(path, maxRereadBytes)
	if err != nil {
		return sha256.Sum256([]byte("\x00" + err.Error()))
	}
	return sha256.Sum256(data)
}

// rereadTokens takes the file of tokens over.
func (w *webProxy) rereadTokens(asked bool) {
	tokens, warning, err := staticTokens(w.cfg.Proxy, true)
	if err == nil {
		err = w.page.check(tokens)
	}
	if err != nil {
		w.log.Error("the new tokens cannot be read; the earlier ones stay valid", "error", err)
		return
	}
	if warning != "" && warning != w.warned {
		w.log.Warn(warning)
	}
	w.warned = warning
	change, err := w.guard.SetTokens(tokens)
	if err != nil {
		w.log.Error("the new tokens cannot be read; the earlier ones stay valid", "error", err)
		return
	}
	for subject, left := range change.Subjects {
		ctx, cancel := context.WithTimeout(context.Background(), revokeTime)
		w.stack.server.Revoked(ctx, subject, left)
		cancel()
	}
	if asked || change.Added+change.Revoked > 0 {
		w.log.Info("tokens read again", "tokens", len(tokens), "new", change.Added, "revoked", change.Revoked)
		w.tokens = tokens
		tellUnnamed(w.log, w.config.rules, tokens, w.cfg.Proxy.HTTPJWTIssuer != "")
	}
	if len(tokens) == 0 && change.Revoked > 0 {
		w.log.Warn("no static token is left: every static token is refused")
	}
}

// revokeTime is how long what an agent has begun may take to end.
const revokeTime = 2 * time.Second
