package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
	"rlmproxy/registry"
)

// A Toolbox is the tools that agents have made, for one who may change them. Its errors are for
// the agent.
type Toolbox interface {
	// All are by name. The error is why they may not be those that there are now.
	All() ([]registry.Tool, error)
	// Find returns the tool of a name.
	Find(name string) (registry.Tool, error)
	// Put keeps a tool in place of a revision, 0 if it is to be new.
	Put(ctx context.Context, t registry.Tool, revision int64) (registry.Tool, error)
	// Delete removes a revision of a tool.
	Delete(ctx context.Context, name string, revision int64) error
	// Line is what is read of a tool without its program.
	Line(t registry.Tool) string
}

// toolActions are what proxy_tools does, as its schema has them.
var toolActions = []string{"list", "create", "update", "enable", "disable", "delete"}

// worker is the engine that a tool has which names none.
const worker = "worker"

// toolbox is proxy_tools: tools that agents make.
type toolbox struct {
	action, name, description, language, program, engine string
	schema, call                                         json.RawMessage
	packages                                             []string
	revision                                             int
}

func (b *toolbox) params() []param {
	b.revision = none
	return []param{
		{"action", `"enum":["` + strings.Join(toolActions, `","`) + `"]`, &b.action, `"create"`},
		{"name", aString, &b.name, ""},
		{"description", aString, &b.description, ""},
		{"input_schema", `"type":"object"`, &b.schema, ""},
		{"language", `"enum":["` + registry.JavaScript + `","` + registry.JQ + `"]`, &b.language, ""},
		{"program", aString, &b.program, ""},
		{"call", `"type":"object"`, &b.call, ""},
		{"engine", `"enum":["` + worker + `","` + registry.Container + `"]`, &b.engine, ""},
		{"packages", `"type":"array"`, &b.packages, ""},
		{"revision", integer, &b.revision, ""},
	}
}

func (b *toolbox) answer(ctx context.Context, c *call) (json.RawMessage, error) {
	box := c.reach.Toolbox
	if box == nil {
		return nil, off(c.tool, "runtimeTools")
	}
	c.arguments = nil // no hint is to repeat them
	switch {
	case !slices.Contains(toolActions, b.action):
		return nil, &pipeline.Error{Code: pipeline.BadArguments, Hint: `proxy_tools {"action":"list"} shows what there is`,
			Text: fmt.Sprintf("%s: action must be one of %s, not %q", c.tool, strings.Join(toolActions, ", "), show.ClipBytes(b.action, 60))}
	case b.action == "list":
		return b.list(c, box)
	case b.name == "":
		return nil, misused(c.tool, "name is missing")
	case b.action == "create":
		return b.put(ctx, c, registry.Tool{Name: b.name, InputSchema: json.RawMessage(`{"type":"object"}`), Language: registry.JavaScript, Enabled: true}, 0)
	}
	was, err := box.Find(b.name)
	switch {
	case err != nil:
		return nil, err
	case b.revision == none:
		return nil, &pipeline.Error{Code: pipeline.BadArguments, Text: fmt.Sprintf("%s: revision is missing; %s has revision %d", c.tool, b.name, was.Revision),
			Hint: fmt.Sprintf(`add "revision":%d, if that is what you have seen; proxy_tools {"action":"list","name":%s} shows it`, was.Revision, show.Quote(b.name))}
	case b.revision < 1:
		return nil, misused(c.tool, "revision must be that of a tool, which is 1 or more")
	case b.action == "delete":
		if err := box.Delete(ctx, b.name, int64(b.revision)); err != nil {
			return nil, err
		}
		return c.says(b.name + " is deleted")
	case b.action == "update":
		return b.put(ctx, c, was, int64(b.revision))
	}
	if err := b.onlyName(c); err != nil {
		return nil, err
	}
	was.Enabled = b.action == "enable"
	return b.keep(ctx, c, was, int64(b.revision))
}

// onlyName refuses what an action does not change.
func (b *toolbox) onlyName(c *call) error {
	if b.description+b.language+b.program+b.engine != "" || b.schema != nil || b.call != nil || b.packages != nil {
		return misused(c.tool, `%s changes nothing else; use "update"`, b.action)
	}
	return nil
}

// put keeps a tool with what was given.
func (b *toolbox) put(ctx context.Context, c *call, t registry.Tool, revision int64) (json.RawMessage, error) {
	t.Description = cmp.Or(b.description, t.Description)
	t.Language = cmp.Or(b.language, t.Language)
	t.Program = cmp.Or(b.program, t.Program)
	if b.schema != nil {
		t.InputSchema = b.schema
	}
	switch b.engine {
	case "":
	case worker:
		t.Engine, t.Packages = "", nil
	default:
		t.Engine = b.engine
	}
	if b.packages != nil {
		t.Packages = b.packages
	}
	if b.call != nil {
		var wrong string
		if t.Call, wrong = readCall(b.call); wrong != "" {
			return nil, misused(c.tool, "call: %s", wrong)
		}
	}
	return b.keep(ctx, c, t, revision)
}

func (b *toolbox) keep(ctx context.Context, c *call, t registry.Tool, revision int64) (json.RawMessage, error) {
	t, err := c.reach.Toolbox.Put(ctx, t, revision)
	if err != nil {
		return nil, err
	}
	return c.says(c.reach.Toolbox.Line(t))
}

// readCall reads what a tool in jq calls first, an empty object being nothing.
func readCall(object json.RawMessage) (called *registry.Call, wrong string) {
	called = new(registry.Call)
	n := 0
	_ = jsonscan.Members(object, func(key string, value json.RawMessage) error {
		n++
		switch {
		case key != "tool" && key != "arguments":
			wrong = fmt.Sprintf("no member %q; there are tool and arguments", show.ClipBytes(key, 60))
		case value[0] != '"':
			wrong = key + " must be a string: arguments is a jq program that makes them of the tool's own"
		case key == "tool":
			called.Tool = jsonscan.Unquote(value)
		default:
			called.Arguments = jsonscan.Unquote(value)
		}
		return nil
	})
	if n == 0 {
		return nil, ""
	}
	return called, wrong
}

// list answers with a line for each tool, or with all of one.
func (b *toolbox) list(c *call, box Toolbox) (json.RawMessage, error) {
	if b.name != "" {
		t, err := box.Find(b.name)
		if err != nil {
			return nil, err
		}
		raw, err := json.MarshalIndent(t, "", " ")
		if err != nil {
			return nil, err
		}
		return c.says(string(raw))
	}
	all, err := box.All()
	var lines []string
	if err != nil {
		lines = append(lines, "some tools may be missing: where they are kept cannot be read as a whole; the log of the proxy says why")
	}
	for _, t := range all {
		lines = append(lines, box.Line(t))
	}
	if lines == nil {
		lines = []string{"no tools have been made"}
	}
	return c.says(strings.Join(lines, "\n"))
}
