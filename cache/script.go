package cache

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"rlmproxy/fleet"
)

//go:embed shared.lua
var sharedText string

var sharedScript = redis.NewScript(sharedText)

// A reply of the script. What it removed has been logged, and is unlinked.
type reply struct {
	status string
	rest   []any
}

func (r reply) text(i int) string {
	if i < len(r.rest) {
		s, _ := r.rest[i].(string)
		return s
	}
	return ""
}

func (r reply) number(i int) (n int64) {
	if i < len(r.rest) {
		switch v := r.rest[i].(type) {
		case int64:
			n = v
		case string:
			n, _ = strconv.ParseInt(v, 10, 64)
		}
	}
	return n
}

// do has the store take one step of the index, on these terms.
func (x *shared) do(op, terms string, args ...any) (reply, error) {
	now := ""
	if x.opts.clocked {
		now = strconv.FormatInt(x.opts.now().UnixMicro(), 10)
	}
	life := x.opts.TTL + stayOver
	all := append([]any{
		op, now, x.opts.TTL.Microseconds(), life.Milliseconds(), (x.opts.TTL / usedEvery).Milliseconds(),
		termsName(terms), x.opts.tombstones, x.opts.MaxTombstones, goneAge.Microseconds(), x.steps,
	}, args...)
	var said []any
	err := x.run(func(ctx context.Context, c redis.Cmdable) (err error) {
		said, err = sharedScript.Run(ctx, c, []string{x.key}, all...).Slice()
		return err
	})
	if err != nil {
		return reply{}, err
	}
	if len(said) < 2 {
		return reply{}, x.troubled(errors.New("an odd reply"))
	}
	status, _ := said[0].(string)
	gone, _ := said[1].([]any)
	x.removed(gone)
	return reply{status, said[2:]}, nil
}

// again is do until it is done.
func (x *shared) again(op, terms string, args ...any) (r reply, err error) {
	for range maxRounds {
		if r, err = x.do(op, terms, args...); err != nil || r.status != "again" {
			return r, err
		}
	}
	return r, x.troubled(fmt.Errorf("%s has no end", op))
}

// run asks the store. The error is a [*fleet.AwayError], whatever fails.
func (x *shared) run(f func(ctx context.Context, c redis.Cmdable) error) error {
	err := x.fleet.Run(x.fleet.Life(), f)
	if err == nil || errors.Is(err, redis.Nil) {
		return err
	}
	return x.troubled(err)
}

// troubled is an error as one that says to try again. The first that the store gives while it
// is there is logged: nobody else says so.
func (x *shared) troubled(err error) error {
	var away *fleet.AwayError
	if errors.As(err, &away) {
		return away
	}
	if x.fleet.Life().Err() == nil {
		x.trouble.Do(func() {
			x.opts.Logger.Warn("cache: the shared store refuses: longer results are kept on this replica only", "error", err)
		})
	}
	return &fleet.AwayError{Retry: awayRetry, Cause: err}
}

// removed logs what the script took out, and unlinks its parts.
func (x *shared) removed(gone []any) {
	var parts []string
	for _, one := range gone {
		text, _ := one.(string)
		f := strings.Fields(text) // reason, agent, id, size, generation, parts
		if len(f) != 6 {
			continue
		}
		agent, ok := parseNamed(f[1])
		size, _ := strconv.ParseInt(f[3], 10, 64)
		n, _ := strconv.Atoi(f[5])
		parts = append(parts, x.parts(f[4], n)...)
		if !ok {
			continue
		}
		x.near.drop(agent, ID(f[2]))
		if reason := Reason(f[0]); reason == Expired || reason == Evicted {
			x.counts.removed(reason)
			logGone(x.opts.Logger, reason, ID(f[2]), agent, size)
		}
	}
	x.unlink(parts)
}

// termsName stands for terms in a record.
func termsName(terms string) string {
	sum := sha256.Sum256([]byte(terms))
	return base64.RawURLEncoding.EncodeToString(sum[:15])
}

// named is how the store names an agent.
func (k agentKey) named() string { return base64.RawURLEncoding.EncodeToString(k[:]) }

func parseNamed(name string) (key agentKey, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(name)
	if err != nil || len(raw) != len(key) {
		return key, false
	}
	return agentKey(raw), true
}

// logGone says of an entry that it went.
func logGone(log *slog.Logger, reason Reason, id ID, agent agentKey, size int64) {
	log.LogAttrs(context.Background(), slog.LevelDebug, "cache: entry gone", slog.String("reason", string(reason)),
		slog.String("id", string(id)), slog.String("agent", agent.String()), slog.Int64("bytes", size))
}
