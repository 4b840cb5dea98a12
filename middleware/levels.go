//lint:file-ignore SA1019 clients and servers of the older revisions still use logging

package middleware

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/upstream"
)

// Clients share a server, which has one level: the most verbose that one of them
// asked for. Each gets what it asked for of that.

// levels are those of log messages, the least severe first (RFC 5424).
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// noLevel is that of a client that wants no log messages, or says so with each
// request.
const noLevel = "none"

// metaLogLevel is the member of a request's _meta that has its level, in revision
// 2026-07-28.
const metaLogLevel = mcp.MetaKeyLogLevel

func checkLevel(level string) error {
	if slices.Contains(levels, level) {
		return nil
	}
	return invalidParams("level %q is none of %s", clipped(level), strings.Join(levels, ", "))
}

// setLevel notes what a client wants to hear, and returns when the servers that
// log know of it.
func (s *Server) setLevel(ctx context.Context, r *mcp.ServerRequest[*mcp.SetLoggingLevelParams]) error {
	if err := checkLevel(string(r.Params.Level)); err != nil {
		return err
	}
	c := s.clientOf(r.Session)
	c.opening.end()
	s.mu.Lock()
	c.level = string(r.Params.Level)
	s.mu.Unlock()
	for _, told := range s.tellLevels(c) {
		select {
		case <-told:
		case <-ctx.Done():
		}
	}
	return nil
}

// levelOf is the least severe level that the client asked for, or "".
func (s *Server) levelOf(c *client) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.level == noLevel {
		return ""
	}
	return c.level
}

// A toldLevel is what a server was last told, whatever it answered, in which of its
// lives.
type toldLevel struct {
	life  *upstream.Info
	level string
}

// tellLevel has a server told the level that its clients want together, unless it
// knows. The channel is closed when it has been. Where each agent has a connection
// of its own, agent says whose; one that is not there is not told.
func (s *Server) tellLevel(up *Upstream, agent string) <-chan struct{} {
	q, to, told := s.toServer[up.Name], conn(up.Conn), s.levels[up.Name]
	if agent != "" {
		own, ok := s.connOf(up, agent).(agentConn)
		if !ok {
			return ended()
		}
		q, to, told = own.agent.toServer, own, &own.agent.level
	}
	done := q.add("level", 0, func(ctx context.Context) {
		level := s.news(to, agent, told)
		if level == "" {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, levelTimeout)
		defer cancel()
		if _, err := to.Call(ctx, upstream.Request{Method: "logging/setLevel", Params: []byte(`{"level":"` + level + `"}`)}); err != nil {
			s.logger.Debug("logging/setLevel", "server", up.Name, "error", err)
		}
	})
	if done == nil { // the proxy ends
		return ended()
	}
	return done
}

// tellLevels is tellLevel for each server, at the connection that requests of c go to.
func (s *Server) tellLevels(c *client) (told []<-chan struct{}) {
	for i := range s.opts.Upstreams {
		up := &s.opts.Upstreams[i]
		told = append(told, s.tellLevel(up, ownerOf(up, c)))
	}
	return told
}

// news is the level that the clients of a server want together, if it was told
// another one last, which is noted; else "".
func (s *Server) news(to conn, agent string, told *toldLevel) string {
	info := to.Info()
	if info == nil || info.Capabilities == nil || info.Capabilities.Logging == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := toldLevel{info, s.mostVerbose(agent)}
	if now.level == "" || now == *told {
		return ""
	}
	*told = now
	return now.level
}

const (
	// levelTimeout is how long a server may take to answer logging/setLevel.
	levelTimeout = 5 * time.Second
	// raiseWait is how long a request waits for its level to be set.
	raiseWait = time.Second
)

// raise has a server of an older revision log what a request of the newest asks
// for. Such a request names its level itself; there the level is the server's. One that
// has not connected is told when it has, maybe while it works on r.
func (s *Server) raise(ctx context.Context, up *Upstream, conn conn, r *request) {
	info := conn.Info()
	if r.level == "" || info != nil && info.ProtocolVersion >= upstream.NewestVersion {
		return
	}
	c := r.client
	s.mu.Lock()
	verbose := c.named == "" || slices.Index(levels, r.level) < slices.Index(levels, c.named)
	if verbose {
		c.named = r.level
	}
	s.mu.Unlock()
	if !verbose {
		return
	}
	told := s.tellLevel(up, ownerOf(up, c))
	s.tellLevels(c) // its other requests go to others
	late := time.NewTimer(raiseWait)
	defer late.Stop()
	select {
	case <-told:
	case <-late.C:
	case <-ctx.Done():
	}
}

func ended() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// mostVerbose is the least severe level that a client, of agent if that is not "",
// has asked for, or one of its requests, or "". s.mu must be held.
func (s *Server) mostVerbose(agent string) string {
	least := len(levels)
	for _, c := range s.clients {
		if agent != "" && c.agent != agent {
			continue
		}
		for _, level := range []string{c.level, c.named} {
			if i := slices.Index(levels, level); i >= 0 {
				least = min(least, i)
			}
		}
	}
	if least == len(levels) {
		return ""
	}
	return levels[least]
}

// wants reports whether a log message is as severe as the client asked for, or
// the request that it is about. Several clients share a server, which has one
// level.
func (s *Server) wants(to recipient, params json.RawMessage) bool {
	s.mu.Lock()
	asked := to.client.level
	s.mu.Unlock()
	if to.request != nil {
		asked = cmp.Or(to.request.level, noLevel)
	}
	if asked == noLevel {
		return false
	}
	least := slices.Index(levels, asked)
	level := slices.Index(levels, stringOf(params, "level"))
	return level < 0 || level >= least
}
