package middleware

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"rlmproxy/fleet"
	"rlmproxy/middleware/session"
)

// foundTools are those that the agent of a session has had described.
type foundTools struct {
	fleet   *fleet.Store // that knows of them, too; or nil
	session string       // as it names the session

	mu    sync.Mutex      // guards the field below
	names map[string]bool // as exposed
}

const (
	// maxFound bounds the found tools that a session's list has.
	maxFound = 100
	// foundTime is how long the store knows of them after the last was found or listed.
	foundTime = 24 * time.Hour
	// kindFound is told on the bus: the list of a session has found tools that it had not.
	kindFound = "found tools"
)

// foundBy are those of a session that were added to its list.
func (s *Server) foundBy(ctx context.Context, r *session.Request) *foundTools {
	if !s.opts.ListFound || r.Stateless {
		return nil
	}
	one, ok := s.found.Load(r.Session)
	if !ok {
		one, _ = s.found.LoadOrStore(r.Session, &foundTools{fleet: s.opts.Fleet, session: r.Session.Everywhere(), names: map[string]bool{}})
	}
	found := one.(*foundTools)
	found.recall(ctx)
	return found
}

func (f *foundTools) shared() bool { return f.fleet != nil && f.session != "" }

func (f *foundTools) key() string { return f.fleet.Key("found", f.session) }

// recall adds what was found at other replicas.
func (f *foundTools) recall(ctx context.Context) {
	if !f.shared() {
		return
	}
	var names []string
	_ = f.fleet.Run(ctx, func(ctx context.Context, c redis.Cmdable) (err error) { // away: what is known here
		names, err = c.SMembers(ctx, f.key()).Result()
		if err == nil && len(names) > 0 {
			err = c.PExpire(ctx, f.key(), foundTime).Err()
		}
		return err
	})
	slices.Sort(names)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range names {
		if len(f.names) < maxFound {
			f.names[name] = true
		}
	}
}

// has reports whether a tool was found; of nil, none was.
func (f *foundTools) has(t target) bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.names[t.exposed]
}

// add notes a tool, and reports whether it is new.
func (f *foundTools) add(ctx context.Context, t target) bool {
	if f == nil || !f.addHere(t.exposed) {
		return false
	}
	if f.shared() {
		_ = f.fleet.Run(ctx, func(ctx context.Context, c redis.Cmdable) error { // away: this replica alone lists it
			err := c.SAdd(ctx, f.key(), t.exposed).Err()
			if err == nil {
				err = c.PExpire(ctx, f.key(), foundTime).Err()
			}
			return err
		})
	}
	return true
}

func (f *foundTools) addHere(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.names[name] || len(f.names) >= maxFound {
		return false
	}
	f.names[name] = true
	return true
}

// tellOthers has other replicas tell the session that its list has changed, if it listens there.
func (f *foundTools) tellOthers(ctx context.Context) {
	if f.shared() {
		_ = f.fleet.Tell(ctx, "", kindFound, f.session) // else it hears of it by the next list
	}
}

// foundElsewhere hears that the list of a session has changed at another replica.
func (s *Server) foundElsewhere(_ string, body json.RawMessage) {
	var name string
	if json.Unmarshal(body, &name) != nil || name == "" {
		return
	}
	here := slices.DeleteFunc(s.clients.Of(""), func(c *session.Session) bool { return c.Everywhere() != name || c.Guest() })
	s.announceTo(changeDelay, session.Tools, here)
}
