package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"rlmproxy/judge"
	"rlmproxy/middleware/shape"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/items"
	"rlmproxy/pipeline/show"
)

// All labels stand in the reply: these are stricter bounds than those of package judge.
const (
	maxLabels = 40
	maxLabel  = 80 // bytes, and of the column
)

// defaultColumn is what the answers are called that have no other name.
const defaultColumn = "answer"

// answerTypes are what an answer may be that is no label.
var answerTypes = []string{"text", "number", "boolean"}

// ask is proxy_ask: a model's judgement of every item.
type ask struct {
	source   source
	question judge.Question
	each     string
	narrow   shape.Narrow
	column   string
}

func (a *ask) params() []param {
	params := append(a.source.params(),
		param{"question", `"type":"string","description":"asked of each item alone"`, &a.question.Text, `"What is this about?"`},
		param{"each", `"enum":["` + strings.Join(items.Kinds, `","`) + `"]`, &a.each, ""},
		param{"labels", stringList, &a.question.Labels, ""},
		param{"type", `"enum":["` + strings.Join(answerTypes, `","`) + `"]`, &a.question.Type, ""},
		param{"guide", `"type":"string","description":"borderline cases"`, &a.question.Guide, ""},
		param{"column", aString, &a.column, ""},
		param{"fields", `"type":"array","items":{"type":"string"},"description":"what the model reads"`, &a.narrow.Fields, ""},
		param{"exclude", "", &a.narrow.Exclude, ""},
		param{"jq", `"type":"string","description":"selects items"`, &a.narrow.JQ, ""})
	for i := range params { // what proxy_filter tells of them is enough
		switch params[i].name {
		case "tool":
			params[i].schema = aString
		case "block":
			params[i].schema = ""
		}
	}
	return params
}

// check is an error for arguments that are wrong whatever the document is.
func (a *ask) check(tool string) error {
	q := &a.question
	switch {
	case strings.TrimSpace(q.Text) == "":
		return misused(tool, "question is missing")
	case a.each != "" && !slices.Contains(items.Kinds, a.each):
		return misused(tool, "each must be one of %s, not %q", strings.Join(items.Kinds, ", "), show.ClipBytes(a.each, 40))
	case len(q.Labels) > maxLabels:
		return misused(tool, "%d labels; %d are allowed", len(q.Labels), maxLabels)
	case len(a.column) > maxLabel, strings.ContainsFunc(a.column, unicode.IsControl):
		return misused(tool, "column may have %d bytes, and no control characters", maxLabel)
	}
	for _, l := range q.Labels {
		if len(l) > maxLabel {
			return misused(tool, "a label may have %d bytes: %s", maxLabel, show.Quote(show.ClipBytes(l, 40)))
		}
	}
	if err := q.Check(); err != nil {
		return misused(tool, "%v", err)
	}
	return nil
}

func (a *ask) answer(ctx context.Context, c *call) (json.RawMessage, error) {
	if c.reach.Judge == nil {
		return nil, off(c.tool, "subModel")
	}
	if err := a.check(c.tool); err != nil {
		return nil, err
	}
	stages, err := c.opts.Shaper.Stages(shape.Narrow{JQ: a.narrow.JQ}, c.tool, c.agent)
	if err != nil {
		return nil, err
	}
	if err := check(&a.source, stages); err != nil {
		return nil, err
	}
	d, done, err := c.open(ctx, &a.source)
	if err != nil || done != nil {
		return done, err
	}
	done, err = a.of(ctx, c, &d, stages)
	return done, c.hinted(&d, err)
}

// of answers for an open document.
func (a *ask) of(ctx context.Context, c *call, d *document, stages pipeline.Pipeline) (json.RawMessage, error) {
	list, done, err := a.divide(ctx, c, d, stages)
	if err != nil || done != nil {
		return done, err
	}
	if err := a.name(c.tool, list); err != nil {
		return nil, err
	}
	if len(list.Texts) == 0 {
		return nil, &pipeline.Error{Code: pipeline.BadArguments, Text: c.tool + ": there is nothing to ask about, not one " + list.Kind}
	}
	report, err := c.judgeItems(ctx, a.question, list.Texts)
	if err != nil {
		return nil, err
	}
	answers := make([]items.Answer, len(list.Texts))
	size := 0
	for i, j := range report.Judgements {
		answers[i].Value = j.Value
		if j.Value != nil && j.Confidence >= 0 {
			answers[i].Confidence = strconv.AppendFloat(nil, j.Confidence, 'f', -1, 64)
		}
		size += len(list.Texts[i])
	}
	if err := shape.Turn(ctx, size); err != nil {
		return nil, err
	}
	if report.Judged > 0 {
		if err := c.keep(d, pipeline.Recognise(list.With(a.column, answers), nil)); err != nil {
			d.note = join(d.note, "the records with their answers are too large to keep; select fewer")
		}
	}
	head, v := a.told(d, list, report)
	return c.reply(d, c.header(d, v, true)+head, v, false)
}

// divide reads the document and divides it, within the time of a query.
func (a *ask) divide(ctx context.Context, c *call, d *document, stages pipeline.Pipeline) (list *items.List, done json.RawMessage, err error) {
	ctx, cancel, done, err := c.readAll(ctx, c.opts.QueryTimeout, a.source.block, d)
	defer cancel()
	if err != nil || done != nil {
		return nil, done, err
	}
	v, err := stages.Run(ctx, d.value)
	if err == nil {
		list, err = items.Divide(ctx, v, a.each)
	}
	if err == nil {
		err = list.Narrow(ctx, a.narrow.Fields, a.narrow.Exclude)
	}
	return list, nil, err
}

// name decides on the name of the new column, which no record may have.
func (a *ask) name(tool string, list *items.List) error {
	taken := func(name string) bool { return list.Has(name) || list.Has(name+"_confidence") }
	if a.column != "" {
		if taken(a.column) {
			return &pipeline.Error{Code: pipeline.BadArguments, Text: fmt.Sprintf("%s: some record has %s or %s already", tool, show.Quote(a.column), show.Quote(a.column+"_confidence")),
				Hint: "give another column, or leave it out"}
		}
		return nil
	}
	for i := 1; ; i++ {
		if a.column = defaultColumn; i > 1 {
			a.column += fmt.Sprint("_", i)
		}
		if !taken(a.column) {
			return nil
		}
	}
}
