// Package query runs an agent's jq program over a document, in a worker process of
// package jq, and tells which field an empty answer missed.
package query

import (
	"bytes"
	"context"
	"errors"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/records"
	"rlmproxy/pipeline/show"
)

// JQ runs a jq program. It is a stage.
//
// JSON Lines count as one array of their lines, a text that is made of records as what
// package records makes of it, and other text is one string, as with jq -Rs. A program
// that fails on the records and runs on the text is for the text: the Note says so. One
// output is that JSON, several are JSON Lines, none is an empty Value; strings stay quoted.
// Package jq says what becomes of numbers and keys.
type JQ struct {
	Program string
	// Pool runs the program in another process, which keeps the tree of a
	// document that has a [doc.Value.Key]. Nil: in this one, see [jq.Eval].
	Pool *jq.Pool
	// Agent is whose program it is, for Pool.
	Agent string
}

func (q *JQ) String() string { return "jq " + show.Clip(q.Program, 200) }

// Check is a [*doc.Error] with code bad_jq for a program that does not compile.
func (q *JQ) Check() error { return q.untried(jq.Check(q.Program)) }

// CheckSyntax is Check for the programs of strangers, which are compiled in other
// processes only.
func (q *JQ) CheckSyntax() error { return q.untried(jq.CheckSyntax(q.Program)) }

// untried is err with a program that parses, where there is no document to try one on.
func (q *JQ) untried(err error) error {
	var e *doc.Error
	if !errors.As(err, &e) || e.Hint != "" {
		return err
	}
	a := &adviser{q: q, ctx: context.Background()}
	fixed := ""
	if len(q.Program) <= maxAdvised {
		fixed = a.repair(q.Program, e)
	}
	hinted := *e
	hinted.Hint = hintFor(e.Text, a, nil, fixed)
	return &hinted
}

// Apply is a [*doc.Error] with code bad_jq for a program that does not parse or
// fails on this data, and limit_time or limit_memory for one that is stopped.
func (q *JQ) Apply(ctx context.Context, in doc.Value) (doc.Value, error) {
	if err := jq.CheckSyntax(q.Program); err != nil { // no worker is asked
		return doc.Value{}, q.advise(ctx, in, nil, false, err)
	}
	data, kind, err := read(ctx, in)
	if err != nil {
		return doc.Value{}, err
	}
	note := ""
	out, err := q.run(ctx, in.Key, kind, data)
	if isBad(err) && in.Kind == doc.Text && kind != jq.Text {
		if text, e := q.run(ctx, "", jq.Text, in.Data); e == nil && !isEmpty(text) {
			out, err, note = text, nil, "run on the text: on its records, the program fails"
		}
	}
	if err != nil {
		return doc.Value{}, q.advise(ctx, in, nil, false, err)
	}
	return q.output(ctx, in, out, note)
}

// on is what the program gives of in, as the records that it has or else as it is.
func (q *JQ) on(ctx context.Context, in doc.Value) (jq.Output, error) {
	data, kind, err := read(ctx, in)
	if err != nil {
		return jq.Output{}, err
	}
	return q.run(ctx, in.Key, kind, data)
}

// isBad reports that a program fails on its input.
func isBad(err error) bool {
	var e *doc.Error
	return errors.As(err, &e) && e.Code == doc.BadJQ
}

// output is what becomes of in.
func (q *JQ) output(ctx context.Context, in doc.Value, out jq.Output, note string) (doc.Value, error) {
	kind, data := doc.JSONLines, out.Data
	if out.N == 1 {
		kind, data = doc.JSON, data[:len(data)-1]
	}
	v := doc.Derive(in, kind, data)
	v.AddNote(note)
	if out.N == 0 {
		v.AddNote("the program gave no output")
	}
	if empty := isEmpty(out); empty || bytes.Contains(out.Data, []byte("null")) || sets(q.Program) {
		return v, q.advise(ctx, in, &v, empty, nil)
	}
	return v, nil
}

func (q *JQ) run(ctx context.Context, key string, kind jq.Kind, data []byte) (jq.Output, error) {
	if q.Pool == nil {
		return jq.Eval(ctx, kind, data, q.Program)
	}
	return q.Pool.Run(ctx, jq.Query{Agent: q.Agent, Key: key, Kind: kind, Data: data, Program: q.Program})
}

// read is what a program reads of in: of a text its records, if it has any.
func read(ctx context.Context, in doc.Value) ([]byte, jq.Kind, error) {
	switch in.Kind {
	case doc.JSON:
		return in.Data, jq.JSON, nil
	case doc.JSONLines:
		return in.Data, jq.Lines, nil
	}
	rows, ok, err := records.Of(ctx, in)
	if ok && rows.Kind == doc.JSON {
		return rows.Data, jq.JSON, nil
	}
	if ok {
		return rows.Data, jq.Lines, nil
	}
	return in.Data, jq.Text, err
}
