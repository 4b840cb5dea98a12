// Package rights says which tools an agent may use.
//
//	token → Who ─► Rules.Of ─► Grant ─► Allows(a tool's name)
//
// The operator's rules speak of an agent in two places: the entry of its name, or else
// that of "*"; and, for a JSON web token, the entries of its scopes.
//
//	neither section is there       everything
//	one speaks of the agent        what it allows
//	both do                        what both allow
//	none does                      nothing
//
// Of several scopes, each adds what it allows.
package rights

import (
	"context"
	"path"
	"slices"
)

// Others is the agent whose entry counts for those that have none.
const Others = "*"

// JWTPrefix begins the names of those who have a JSON web token, so that nobody whose
// issuer lets him choose the name "alice" is the alice of a static token.
const JWTPrefix = "jwt:"

// A Who is what is known of whoever asks. The zero value is somebody without a name.
type Who struct {
	// Agent is the name in the operator's rules: that of a static token, or JWTPrefix and
	// the claim of a JSON web token.
	Agent string
	// JWT says that a token of an issuer was shown, and Scopes what it was issued for.
	JWT    bool
	Scopes []string
}

type whoKey struct{}

// With returns a context for what this one asks.
func With(ctx context.Context, who Who) context.Context { return context.WithValue(ctx, whoKey{}, who) }

// From is who asks by ctx, if that is known.
func From(ctx context.Context) (who Who, ok bool) {
	who, ok = ctx.Value(whoKey{}).(Who)
	return who, ok
}

// An Entry are globs over the names under which tools are listed. Allow nil allows all
// that Deny does not deny; an empty Allow, nothing.
type Entry struct{ Allow, Deny []string }

// Rules are what an operator wants. Nil maps are sections that are not there.
type Rules struct {
	Agents map[string]Entry // by name, and Others
	Scopes map[string]Entry
}

// Of is what one may do. A nil r lets everybody do everything.
func (r *Rules) Of(who Who) Grant {
	if r == nil || r.Agents == nil && r.Scopes == nil {
		return Grant{all: true}
	}
	var g Grant
	entry, named := r.Agents[who.Agent]
	if !named {
		entry, named = r.Agents[Others]
	}
	if named {
		g.every = append(g.every, []Entry{entry})
	}
	if who.JWT && r.Scopes != nil {
		var any []Entry
		for _, scope := range who.Scopes {
			if entry, ok := r.Scopes[scope]; ok {
				any = append(any, entry)
			}
		}
		g.every = append(g.every, any)
	}
	g.all = len(g.every) > 0 && !slices.ContainsFunc(g.every, func(any []Entry) bool { return !slices.ContainsFunc(any, Entry.limitless) })
	return g
}

// A Grant is what one agent may use. The zero value is nothing.
type Grant struct {
	all   bool
	every [][]Entry // of each of these, one entry must allow
}

// Limitless reports whether it is everything.
func (g Grant) Limitless() bool { return g.all }

// A Name is what a tool is called.
type Name struct {
	Listed string // what agents see, and what must be allowed
	// Bare is what it would be called if no other tool had that name, and Stable what it
	// is called if one takes it. Where they are denied, it is.
	Bare, Stable string
}

// Allows reports whether a tool may be used.
func (g Grant) Allows(tool Name) bool {
	if g.all {
		return true
	}
	for _, any := range g.every {
		if !slices.ContainsFunc(any, func(e Entry) bool { return e.allows(tool) }) {
			return false
		}
	}
	return len(g.every) > 0
}

// Equal reports whether two grants are the same for every tool.
func (g Grant) Equal(other Grant) bool {
	return g.all == other.all && slices.EqualFunc(g.every, other.every, func(a, b []Entry) bool {
		return slices.EqualFunc(a, b, func(a, b Entry) bool {
			return (a.Allow == nil) == (b.Allow == nil) && slices.Equal(a.Allow, b.Allow) && slices.Equal(a.Deny, b.Deny)
		})
	})
}

func (e Entry) limitless() bool {
	return (e.Allow == nil || slices.Contains(e.Allow, "*")) && len(e.Deny) == 0
}

func (e Entry) allows(tool Name) bool {
	if e.Allow != nil && !Match(e.Allow, tool.Listed) {
		return false
	}
	// A stable name begins as the bare one does: a glob for others may match it by chance.
	return !Match(e.Deny, tool.Listed) && !Match(e.Deny, tool.Bare) && !slices.Contains(e.Deny, tool.Stable)
}

// Match reports whether one of the globs matches name. Globs were checked when the
// configuration was read.
func Match(globs []string, name string) bool {
	for _, g := range globs {
		if ok, _ := path.Match(g, name); ok {
			return true
		}
	}
	return false
}
