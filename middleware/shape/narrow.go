package shape

import (
	"context"
	"fmt"
	"slices"

	"rlmproxy/cache"
	"rlmproxy/middleware/frame"
	"rlmproxy/pipeline"
)

// A Narrow says what is left of a document: some of its fields, or what a jq
// program makes of it. The zero value leaves all.
type Narrow struct {
	Fields, Exclude []string
	JQ              string
}

func (n Narrow) empty() bool { return len(n.Fields)+len(n.Exclude) == 0 && n.JQ == "" }

// Check compiles paths and program, so that a mistake of the operator's stops the
// start and not each call.
func (n Narrow) Check() error {
	for _, path := range slices.Concat(n.Fields, n.Exclude) {
		if _, err := pipeline.ParsePath(path); err != nil {
			return err
		}
	}
	if n.JQ == "" {
		return nil
	}
	return (&pipeline.JQ{Program: n.JQ}).Check()
}

// Stages returns the stages that narrow, none if n is the zero value. Errors are
// said to be those of tool.
func (s *Shaper) Stages(n Narrow, tool, agent string) (pipeline.Pipeline, error) {
	if n.JQ != "" && len(n.Fields)+len(n.Exclude) > 0 {
		return nil, &pipeline.Error{Code: pipeline.BadArguments, Text: tool + ": give jq or fields, not both",
			Hint: "select the fields in jq, as in .items[] | {name, id}"}
	}
	if slices.Contains(slices.Concat(n.Fields, n.Exclude), "") {
		return nil, &pipeline.Error{Code: pipeline.BadArguments, Text: tool + ": a field name is empty"}
	}
	switch {
	case n.JQ != "":
		return pipeline.Pipeline{workerJQ{&pipeline.JQ{Program: n.JQ, Pool: s.opts.JQ, Agent: agent}}}, nil
	case len(n.Fields)+len(n.Exclude) > 0:
		return pipeline.Pipeline{&pipeline.Project{Fields: n.Fields, Exclude: n.Exclude}}, nil
	}
	return nil, nil
}

// narrow returns what the operator's choice leaves of an answer. It returns nil
// where that does not apply or saves nothing: then the answer is shaped as any
// other. The whole answer is cached, and what is left too if that is over the
// limit.
func (s *Shaper) narrow(agent string, origin cache.Origin, docs *Documents, n Narrow, lim limit) *reply {
	const firstTokens = 30 // of the first line, at least
	only, ok := docs.only()
	if !ok {
		return nil
	}
	v, err := s.narrowed(agent, origin.Tool, only, n)
	if err != nil {
		s.opts.Logger.Warn("the configured fields or jq of a tool fail on its result", "tool", origin.Tool, "error", err)
		return nil
	}
	total, left := docs.Tokens(), count(v.Data)
	if left+firstTokens >= total {
		return nil // it saves nothing, and need not be kept
	}
	whole, err := s.keep(agent, origin, docs)
	if err != nil {
		return nil
	}
	text := append(firstLine(whole.ID, origin, left, total, " · fields chosen by the operator"), Notes(v.Note)...)
	text = appendData(text, v.Data)
	if count(text) >= total {
		return nil
	}
	if lim.fits(text) {
		return &reply{text, docs.others(), Facts{CacheID: whole.ID, Tokens: total, ShownTokens: left, Items: v.Total, ShownItems: v.Items}}
	}
	notes := fmt.Sprintf("[fields chosen by the operator; the whole result: cache_id=%s]\n", whole.ID) + Notes(v.Note)
	r, err := s.cut(agent, origin, newText(v.Data), left, lim, notes)
	if err != nil || r == nil {
		return nil
	}
	r.others = docs.others()
	return r
}

// narrowed applies n to a document.
func (s *Shaper) narrowed(agent, tool string, d Document, n Narrow) (pipeline.Value, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.QueryTimeout)
	defer cancel()
	stages, err := s.Stages(n, tool, agent)
	if err != nil {
		return pipeline.Value{}, err
	}
	return stages.Run(ctx, pipeline.Recognise(d.Text, nil))
}

// Notes are the lines that tell an agent something about an answer, one for each
// note that is not empty.
func Notes(notes ...string) (lines string) {
	for _, note := range notes {
		if note != "" {
			lines += "[" + frame.OneLine(note) + "]\n"
		}
	}
	return lines
}
