package toolbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"rlmproxy/middleware/catalogue"
	"rlmproxy/middleware/scan"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
	"rlmproxy/registry"
)

// A Namespace says which names are others'.
type Namespace interface {
	// Taken says whose a name is, or may come to be, "" for nobody's.
	Taken(name string) string
}

// All are the tools as they were last read, by name, and why they may not be those there are now.
func (b *Box) All() ([]registry.Tool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all, b.why
}

// byHash is the hash in the name of an agent, whose beginning is enough to find it in the log.
var byHash = regexp.MustCompile(`#([0-9a-f]{12})[0-9a-f]{52}$`)

// Put checks a tool and keeps it in place of a revision, 0 if it is to be new, for an agent.
// Its errors are for the agent. Changed is that of Follow.
func (b *Box) Put(ctx context.Context, t registry.Tool, revision int64, by string, names Namespace, changed func()) (registry.Tool, error) {
	if err := b.check(ctx, &t); err != nil {
		return t, err
	}
	if revision == 0 {
		if whose := names.Taken(t.Name); whose != "" {
			return t, bad("name "+t.Name+" is not free: "+whose, "choose another name")
		}
	}
	t.By, t.Changed = show.ClipBytes(byHash.ReplaceAllString(by, "#$1"), 100), time.Now().UTC().Truncate(time.Second)
	t, err := b.opts.Store.Put(ctx, t, revision)
	if err != nil {
		return t, b.refused(t.Name, err)
	}
	b.reload(ctx, changed)
	return t, nil
}

// Delete removes a revision of a tool. Its errors are for the agent.
func (b *Box) Delete(ctx context.Context, name string, revision int64, changed func()) error {
	if err := b.opts.Store.Delete(ctx, name, revision); err != nil {
		return b.refused(name, err)
	}
	b.reload(ctx, changed)
	return nil
}

// Find returns the tool of a name, enabled or not. Its error is for the agent.
func (b *Box) Find(name string) (registry.Tool, error) {
	t, ok := b.find(name)
	if ok {
		return t, nil
	}
	if _, err := b.All(); errors.Is(err, errNotRead) {
		return t, b.refused(name, &registry.AwayError{Store: "made tools", Err: err})
	}
	return registry.Tool{}, b.refused(name, registry.ErrUnknown)
}

// check is what is wrong with a tool, for its maker. A tool that is off is checked as well: it
// may be switched on by another.
func (b *Box) check(ctx context.Context, t *registry.Tool) error {
	if err := t.Check(); err != nil {
		return bad(err.Error(), "")
	}
	if t.Engine == registry.Container && b.opts.NoContainer != "" {
		return bad("engine container cannot be used: "+b.opts.NoContainer, "leave engine out, or have the operator install podman or docker")
	}
	definition := definitions([]registry.Tool{{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema, Enabled: true}})[0]
	if found := scan.Definition(definition.Raw); len(found) > 0 {
		return bad(found[0].String(), "say what the tool does, and nothing that instructs who reads it")
	}
	if wrong := catalogue.CheckSchema(t.InputSchema); wrong != "" {
		return bad("input_schema: "+wrong, `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)
	}
	return b.compile(ctx, t)
}

// compile is what is wrong with the program of a tool.
func (b *Box) compile(ctx context.Context, t *registry.Tool) error {
	if t.Language == registry.JavaScript {
		if b.opts.Compile == nil {
			return nil
		}
		return b.opts.Compile(ctx, *t)
	}
	programs := []string{t.Program}
	if t.Call != nil && t.Call.Arguments != "" {
		programs = append(programs, t.Call.Arguments)
	}
	for _, program := range programs {
		if err := (&pipeline.JQ{Program: program}).CheckSyntax(); err != nil {
			return err
		}
	}
	return nil
}

// refused is an error of a store as an agent can repair it.
func (b *Box) refused(name string, err error) error {
	clipped := show.ClipBytes(name, 80)
	var stale *registry.StaleError
	var away *registry.AwayError
	switch {
	case errors.As(err, &stale):
		return bad(fmt.Sprintf("%s: %v: somebody has changed it", clipped, stale), fmt.Sprintf(`proxy_tools {"action":"list","name":%q} shows it as it is now`, clipped))
	case errors.Is(err, registry.ErrUnknown):
		return bad(fmt.Sprintf("there is no made tool %q", clipped), `proxy_tools {"action":"list"} shows those that there are`)
	case errors.Is(err, registry.ErrExists):
		return bad("there is a made tool "+clipped, `to change it, use action "update" with its revision`)
	case errors.Is(err, registry.ErrFull):
		return bad(err.Error(), "delete one that nobody needs")
	case errors.As(err, &away):
		b.opts.Logger.Warn("the tools that agents made cannot be changed", "error", err)
		return &pipeline.Error{Code: "store_unavailable", Text: "made tools cannot be changed now: where they are kept is not available; the log of the proxy says why", Err: err,
			Hint: `try again later; proxy_tools {"action":"list"} shows what became of the change`}
	}
	return err
}

func bad(text, hint string) error {
	return &pipeline.Error{Code: pipeline.BadArguments, Text: "proxy_tools: " + text, Hint: hint}
}

// Line is a tool for who changes tools, without its program.
func Line(t registry.Tool) string {
	state := "enabled"
	if !t.Enabled {
		state = "disabled"
	}
	engine := ""
	if t.Engine != "" {
		engine = " in a " + t.Engine
	}
	return scan.Line(fmt.Sprintf("%s: revision %d, %s, %s%s, changed by %s at %s. %s", t.Name, t.Revision, state, t.Language, engine,
		cmp.Or(t.By, "nobody"), t.Changed.UTC().Format("2006-01-02 15:04"), show.ClipBytes(t.Description, 200)))
}
