package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/show"
)

// Upstreams are the servers behind the proxy, for an agent that may change which there are.
type Upstreams interface {
	// List has a line for each server.
	List(ctx context.Context) []string
	// Change makes all changes, or none, and has a line for each server that they were about.
	// Question, if not nil, is the answer of the request: the person is asked first.
	Change(ctx context.Context, changes []Change) (lines []string, question json.RawMessage, err error)
}

// A Change is what an agent wants to become of one server.
type Change struct {
	Action string
	Name   string
	Server json.RawMessage // an object; nil: none is given
}

// actions are what a change may do, as its schema has them.
var actions = []string{"add", "remove", "enable", "disable", "update"}

// upstreams is proxy_upstreams: which servers there are.
type upstreams struct{ changes []json.RawMessage }

func (u *upstreams) params() []param {
	return []param{{"changes",
		`"type":"array","items":{"type":"object","properties":{"action":{"enum":["` + strings.Join(actions, `","`) + `"]},"name":{"type":"string"},"server":{"type":"object"}},"required":["action","name"]}`,
		&u.changes, `[{"action":"add","name":"…","server":{"command":"…"}}]`}}
}

func (u *upstreams) answer(ctx context.Context, c *call) (json.RawMessage, error) {
	if c.reach.Upstreams == nil {
		return nil, off(c.tool, "enableUpstreamTool")
	}
	if len(u.changes) == 0 {
		return c.says(strings.Join(c.reach.Upstreams.List(ctx), "\n"))
	}
	var changes []Change
	for i, raw := range u.changes {
		change, wrong := readChange(raw)
		if wrong != "" {
			return nil, misused(c.tool, "changes[%d]: %s", i, wrong)
		}
		changes = append(changes, change)
	}
	lines, question, err := c.reach.Upstreams.Change(ctx, changes)
	if err != nil || question != nil {
		return question, err
	}
	c.arguments = nil // which may have secrets
	return c.says(strings.Join(lines, "\n"))
}

// readChange reads one change, or says what is wrong with it.
func readChange(raw json.RawMessage) (c Change, wrong string) {
	object := objectOf(raw)
	if object == nil {
		return c, "it must be an object"
	}
	text := func(key string, value json.RawMessage) string {
		if value[0] != '"' {
			wrong = key + " must be a string"
			return ""
		}
		return jsonscan.Unquote(value)
	}
	seen := map[string]bool{}
	_ = jsonscan.Members(object, func(key string, value json.RawMessage) error {
		if seen[key] {
			wrong = show.Quote(show.ClipBytes(key, 60)) + " stands twice"
		}
		seen[key] = true
		switch {
		case wrong != "" || string(value) == "null":
		case key == "action":
			c.Action = text(key, value)
		case key == "name":
			c.Name = text(key, value)
		case key == "server":
			if c.Server = objectOf(value); c.Server == nil {
				wrong = "server must be an object, as in mcp.json"
			}
		default:
			wrong = fmt.Sprintf("no member %q; there are action, name and server", show.ClipBytes(key, 60))
		}
		return nil
	})
	switch {
	case wrong != "":
	case c.Action == "list":
		wrong = "to list the servers, leave changes out"
	case !slices.Contains(actions, c.Action):
		wrong = fmt.Sprintf("action must be one of %s, not %q", strings.Join(actions, ", "), show.ClipBytes(c.Action, 60))
	case !seen["name"]:
		wrong = "name is missing"
	}
	return c, wrong
}
