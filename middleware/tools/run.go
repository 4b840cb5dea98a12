package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
	"rlmproxy/middleware/frame"
	"rlmproxy/middleware/shape"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/script"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

// A State is what programs of the agent keep from one to the next.
type State interface {
	// Load returns the state, nil for none. Save replaces what was loaded; it reports false, and
	// changes nothing, if another program has done so meanwhile. NoModel says that the sub-model
	// may not read it.
	Load(ctx context.Context) (state json.RawMessage, noModel bool, err error)
	Save(ctx context.Context, state json.RawMessage, noModel bool) (bool, error)
}

// run is proxy_run: a program over results.
type run struct{ code string }

func (r *run) params() []param { return []param{{"code", aString, &r.code, `"return …"`}} }

func (r *run) answer(ctx context.Context, c *call) (json.RawMessage, error) {
	switch {
	case !c.reach.Programs || c.opts.Programs == nil:
		return nil, off(c.tool, "code")
	case r.code == "":
		return nil, misused(c.tool, "code is missing")
	}
	p := script.Program{Source: r.code}
	var err error
	if c.reach.State != nil {
		if p.State, c.noModel, err = c.reach.State.Load(ctx); err != nil {
			return nil, err
		}
	}
	out, err := c.program(ctx, p, nil)
	if err != nil {
		return nil, withPrinted(err, out.Printed)
	}
	notes := c.healed
	if out.State != nil && c.reach.State != nil {
		kept, err := c.reach.State.Save(ctx, out.State, c.noModel && string(out.State) != "{}")
		switch {
		case err != nil:
			notes = append(notes, "state is not kept: the shared store is away")
		case !kept:
			notes = append(notes, "state is not kept: another program has changed it meanwhile")
		}
	}
	return c.returned(ctx, out, shape.Notes(notes...))
}

// returned answers with what a program returned below what it printed, or with that alone.
func (c *call) returned(ctx context.Context, out script.Outcome, head string) (json.RawMessage, error) {
	origin := cache.Origin{Tool: c.tool, Arguments: c.arguments, ReadOnly: !c.acted, NoModel: c.noModel, Terms: c.terms}
	if err := shape.Turn(ctx, len(out.Value)); err != nil {
		return nil, err
	}
	printed := bytes.TrimSuffix(out.Printed, []byte("\n"))
	data := []byte(out.Value)
	switch {
	case data == nil && len(printed) == 0:
		data = []byte("the program returned nothing: end it with return, as in return main()")
	case data == nil:
		data, printed = printed, nil
	case data[0] == '"':
		data = []byte(jsonscan.Unquote(data))
	}
	if len(printed) > 0 {
		head += c.printed(origin, printed)
	}
	return c.opts.Shaper.Answer(c.agent, origin, shape.Answer{Header: head, Value: pipeline.Recognise(data, nil), Printed: true})
}

// printed is what a program printed as lines above an answer. Of much, it is the beginning.
func (c *call) printed(origin cache.Origin, text []byte) string {
	line := "printed " + show.Plural(bytes.Count(text, []byte("\n"))+1, "lines")
	shown := text
	for most := c.opts.Shaper.Budget() / 4; !tokens.AtMost(shown, most); {
		cut := bytes.LastIndexByte(shown[:len(shown)*3/4], '\n')
		if cut < 0 {
			shown = nil
			break
		}
		shown = shown[:cut]
	}
	if len(shown) < len(text) {
		line += fmt.Sprintf(", the first %s here", show.Count(lineCount(shown)))
		value := pipeline.Recognise(text, nil)
		if id, err := c.opts.Shaper.KeepValue(c.agent, origin, value); err == nil {
			line += " · cache_id=" + string(id)
		}
	}
	head := shape.Notes(line)
	if len(shown) > 0 {
		head += string(frame.Quote(shown)) + "\n"
	}
	return head + shape.Notes("returned")
}

func lineCount(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	return bytes.Count(text, []byte("\n")) + 1
}
