package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"rlmproxy/config"
	"rlmproxy/jsonscan"
	"rlmproxy/middleware/observe"
	"rlmproxy/pipeline/show"
)

// A callLog writes a line of the log for each call: what is in docs/operations.md for the
// audit log, but for people, and without what was said unless they ask for details.
type callLog struct{ stack *stack }

var _ observe.Observer = callLog{}

// Called implements [observe.Observer].
func (l callLog) Called(c *observe.Call) {
	ctx := context.Background()
	log := l.stack.log
	if !log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	var line []any
	add := func(key, value string) {
		if value != "" {
			line = append(line, key, value)
		}
	}
	add("server", c.Server)
	if c.Method != "tools/call" {
		add("method", c.Method)
	}
	add("tool", c.Name)
	add("agent", c.Agent)
	line = append(line, "ms", float64(c.Took.Microseconds()/100)/10, "tokens_in", c.TokensIn, "tokens_out", c.TokensOut)
	switch {
	case c.Cut:
		add("reply", "cut")
	case c.Outcome == observe.OK:
		add("reply", "whole")
	case c.Outcome != observe.Error:
		add("outcome", string(c.Outcome))
	}
	add("error", c.Error)
	add("id", string(c.CacheID))
	add("read", string(c.ReadID))
	if log.Enabled(ctx, slog.LevelDebug) {
		add("arguments", l.said(c.Arguments))
		add("result", l.said(c.Result))
	}
	log.Info("call", line...)
}

const (
	mostSaid  = 2000     // of arguments and of a result in a line, in bytes
	mostShown = 64 << 10 // a longer one would have to be searched for secrets as a whole
)

// said is what was said, masked: by the form of secrets, and those that servers were given.
func (l callLog) said(raw json.RawMessage) string {
	switch {
	case len(raw) == 0:
		return ""
	case len(raw) > mostShown:
		return fmt.Sprintf("(%d bytes)", len(raw))
	}
	text := string(masked(raw))
	var secrets []config.Secret
	for _, r := range l.stack.list() {
		for _, s := range r.entry.Secrets { // which JSON may write in another way
			quoted := string(jsonscan.Quote(string(s)))
			secrets = append(secrets, s, config.Secret(quoted[1:len(quoted)-1]))
		}
	}
	if mask := masks(secrets); mask != nil {
		text = mask(text)
	}
	return show.ClipBytes(text, mostSaid)
}
