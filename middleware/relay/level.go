//lint:file-ignore SA1019 clients and servers of the older revisions still use roots, sampling and logging

package relay

import (
	"context"
	"time"

	"rlmproxy/middleware/revision"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/upstream"
)

// Clients share a server, which has one level of log messages: the most verbose that one
// of them asked for. Each gets what it asked for of that.

const (
	// levelTimeout is how long a server may take to answer logging/setLevel.
	levelTimeout = 5 * time.Second
	// raiseWait is how long a request waits for its level to be set.
	raiseWait = time.Second
)

// A toldLevel is what a server was last told, whatever it answered, in which of its
// lives.
type toldLevel struct {
	life  *upstream.Info
	level string
}

// SetLevel notes what a client wants to hear, and returns when the servers that log know
// of it, or ctx has ended.
func (r *Relay) SetLevel(ctx context.Context, s *session.Session, level string) error {
	if err := s.SetLevel(level); err != nil {
		return err
	}
	for _, told := range r.tellLevels(s) {
		select {
		case <-told:
		case <-ctx.Done():
		}
	}
	return nil
}

// tellLevels has each server told the level that its clients want together, at the
// connection that requests of s go to, unless it knows. The channels are closed when they
// have been.
func (r *Relay) tellLevels(s *session.Session) (told []<-chan struct{}) {
	for _, v := range r.all() {
		if c := v.existing(v.owner(s)); c != nil {
			told = append(told, c.tellLevel())
		}
	}
	return told
}

// closed is a channel that is closed.
var closed = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (c *Connection) tellLevel() <-chan struct{} {
	done := c.toServer.Add("level", 0, func(ctx context.Context) {
		level := c.newLevel()
		if level == "" {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, levelTimeout)
		defer cancel()
		if _, err := c.Call(ctx, upstream.Request{Method: "logging/setLevel", Params: []byte(`{"level":"` + level + `"}`)}); err != nil {
			c.log.Debug("logging/setLevel", "error", err)
		}
	})
	if done == nil { // the proxy ends
		return closed
	}
	return done
}

// newLevel is the level that the server's clients want together, if it was told another
// one last, which is noted; else "".
func (c *Connection) newLevel() string {
	info := c.Info()
	if info == nil || info.Capabilities == nil || info.Capabilities.Logging == nil {
		return ""
	}
	now := toldLevel{info, session.MostVerbose(c.server.relay.opts.Clients.Of(c.agent))}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.level == "" || now == c.level {
		return ""
	}
	c.level = now
	return now.level
}

// raiseLevel has a server of an older revision log what a request of the stateless one asks
// for. Such a request names its level itself; there the level is the server's. One that
// has not connected is told when it has, maybe while it works on r.
func (c *Connection) raiseLevel(ctx context.Context, r *session.Request) {
	info := c.Info()
	if info != nil && info.ProtocolVersion >= revision.Stateless || !r.Session.NameLevel(r.Level) {
		return
	}
	told := c.tellLevel()
	c.server.relay.tellLevels(r.Session) // its other requests go to others
	late := time.NewTimer(raiseWait)
	defer late.Stop()
	select {
	case <-told:
	case <-late.C:
	case <-ctx.Done():
	}
}
