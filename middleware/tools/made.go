package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/shape"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/script"
	"rlmproxy/registry"
)

type programKey struct{}

// inProgram is ctx of what a program asks for.
func inProgram(ctx context.Context) context.Context {
	return context.WithValue(ctx, programKey{}, true)
}

// InProgram reports whether what ctx is of was asked for by a program of an agent.
func InProgram(ctx context.Context) bool { return ctx.Value(programKey{}) != nil }

// Run runs a tool that was made at run time, for an agent with these arguments, an object, and
// returns the result of a tools/call, which is not shaped. Name is the tool's for agents. Other, if
// not nil, runs its program.
func (t *Tools) Run(ctx context.Context, agent, name string, made registry.Tool, arguments json.RawMessage, reach Reach, other script.Runner) (json.RawMessage, error) {
	c := &call{Tools: t, agent: agent, terms: t.opts.Shaper.Terms(), tool: name, arguments: arguments, reach: reach, noModel: reach.NoModel}
	if made.Language == registry.JQ {
		return c.runJQ(inProgram(ctx), made, arguments)
	}
	out, err := c.program(ctx, script.Program{Name: made.Name, Source: made.Program, Arguments: arguments, Packages: made.Packages}, other)
	if err != nil {
		return nil, withPrinted(err, out.Printed)
	}
	value := out.Value
	if value == nil {
		value = json.RawMessage("null")
	}
	if value[0] == '"' {
		value = json.RawMessage(jsonscan.Unquote(value))
	}
	return textResult(bytes.TrimSpace(out.Printed), value), nil
}

// withPrinted is an error of a program with what it had printed.
func withPrinted(err error, printed []byte) error {
	const most = 2000
	var e *pipeline.Error
	if !errors.As(err, &e) || len(printed) == 0 {
		return err
	}
	if len(printed) > most {
		printed = append([]byte("…"), bytes.ToValidUTF8(printed[len(printed)-most:], nil)...)
	}
	with := *e
	with.Text += "\nprinted before:\n" + string(bytes.TrimSpace(printed))
	return &with
}

// textResult is the result of a tool with these texts, but for empty ones.
func textResult(texts ...[]byte) json.RawMessage {
	content := []byte{'['}
	for _, text := range texts {
		if len(text) == 0 && len(texts) > 1 {
			continue
		}
		if len(content) > 1 {
			content = append(content, ',')
		}
		content = append(content, jsonscan.With(jsonscan.Object("type", []byte(`"text"`)), "text", jsonscan.Quote(string(text)))...)
	}
	return jsonscan.Object("content", append(content, ']'))
}

// runJQ runs a tool in jq: its program gets the arguments or, where the tool calls another
// first, {"args":…,"result":…}.
func (c *call) runJQ(ctx context.Context, made registry.Tool, arguments json.RawMessage) (json.RawMessage, error) {
	input := arguments
	if made.Call != nil {
		passed := arguments
		if made.Call.Arguments != "" {
			v, err := c.jq(ctx, made.Call.Arguments, arguments)
			if err != nil {
				return nil, err
			}
			if passed = v.Data; v.Kind != pipeline.JSON || objectOf(passed) == nil {
				return nil, &pipeline.Error{Code: pipeline.BadJQ, Text: c.tool + ": call.arguments must make one object of the arguments"}
			}
		}
		if c.reach.Fresh == nil {
			return nil, &pipeline.Error{Code: pipeline.BadArguments, Text: c.tool + ": no tool can be called from here, and it calls " + made.Call.Tool}
		}
		raw, _, err := c.reach.Fresh.FreshCall(ctx, made.Call.Tool, passed)
		if err != nil || !shape.HasData(raw) {
			return raw, err
		}
		v, err := resultOf(raw)
		if err != nil {
			return nil, err
		}
		input = jsonscan.With(jsonscan.Object("args", arguments), "result", v)
	}
	v, err := c.jq(ctx, made.Program, input)
	if err != nil {
		return nil, err
	}
	return textResult(v.Data), nil
}

// jq runs a program over JSON.
func (c *call) jq(ctx context.Context, program string, input json.RawMessage) (pipeline.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.QueryTimeout)
	defer cancel()
	stages, err := c.opts.Shaper.Stages(shape.Narrow{JQ: program}, c.tool, c.agent)
	if err != nil {
		return pipeline.Value{}, err
	}
	return stages.Run(ctx, pipeline.Value{Kind: pipeline.JSON, Data: input})
}

// resultOf is the data of a tool's result as a program reads it: what is structured, unless the
// text says the same, else the text. It is what result would be, were it cached.
func resultOf(raw json.RawMessage) (json.RawMessage, error) {
	r, err := shape.ParseToolResult(raw)
	if err != nil {
		return nil, err
	}
	structured := jsonscan.Member(raw, "structuredContent")
	var texts [][]byte
	for _, d := range r.Docs {
		switch {
		case d.Media != "":
		case bytes.Equal(d.Text, structured):
			return structured, nil
		default:
			texts = append(texts, d.Text)
		}
	}
	return asJSON(pipeline.Recognise(bytes.Join(texts, []byte{'\n'}), nil)), nil
}
