package pipeline

import (
	"context"
	"errors"

	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/show"
)

var _ Stage = (*JQ)(nil)

// JQ runs a jq program. It is a [Stage].
//
// JSON Lines count as one array of their lines, CSV and TSV as one of their
// records, and other text is one string, as with jq -Rs. One output is that JSON,
// several are JSON Lines, none is an empty Value; strings stay quoted.
// Package jq says what becomes of numbers and keys.
type JQ struct {
	Program string
	// Pool runs the program in another process, which keeps the tree of a
	// document that has a [Value.Key]. Nil: in this one, see [jq.Eval].
	Pool *jq.Pool
	// Agent is whose program it is, for Pool.
	Agent string
}

func (q *JQ) String() string { return "jq " + show.Clip(q.Program, 200) }

// Check is an [*Error] with code bad_jq for a program that does not compile.
func (q *JQ) Check() error { return repairable(jq.Check(q.Program)) }

// CheckSyntax is Check for the programs of strangers, which are compiled in other
// processes only.
func (q *JQ) CheckSyntax() error { return repairable(jq.CheckSyntax(q.Program)) }

// Apply is an [*Error] with code bad_jq for a program that does not parse or
// fails on this data, and limit_time or limit_memory for one that is stopped.
func (q *JQ) Apply(ctx context.Context, in Value) (Value, error) {
	out, err := q.run(ctx, in)
	if err != nil {
		return Value{}, q.explained(ctx, in, nil, repairable(err))
	}
	kind, data := JSONLines, out.Data
	if out.N == 1 {
		kind, data = JSON, data[:len(data)-1]
	}
	v := derive(in, kind, data)
	if out.N == 0 {
		v.addNote("the program gave no output")
	}
	if !says(out) {
		return v, q.explained(ctx, in, &v, nil)
	}
	return v, nil
}

// read is the document that the program has read, as a Value: tables are their
// records.
func (q *JQ) read(ctx context.Context, in Value) Value {
	if table, ok, err := csvRecords(ctx, in); ok && err == nil {
		return table
	}
	return in
}

func (q *JQ) run(ctx context.Context, in Value) (jq.Output, error) {
	doc, kind, err := jqDocument(ctx, in)
	if err != nil {
		return jq.Output{}, err
	}
	if q.Pool == nil {
		return jq.Eval(ctx, kind, doc, q.Program)
	}
	return q.Pool.Run(ctx, jq.Query{Agent: q.Agent, Key: in.Key, Kind: kind, Data: doc, Program: q.Program})
}

// jqDocument is what jq reads of in. Tables are read by records.
func jqDocument(ctx context.Context, in Value) ([]byte, jq.Kind, error) {
	switch in.Kind {
	case JSON:
		return in.Data, jq.JSON, nil
	case JSONLines:
		return in.Data, jq.Lines, nil
	}
	table, ok, err := csvRecords(ctx, in)
	if ok {
		return table.Data, jq.Lines, nil
	}
	return in.Data, jq.Text, err
}

// repairable turns an error of package jq into ours.
func repairable(err error) error {
	var e *jq.Error
	if !errors.As(err, &e) {
		return err
	}
	ours := Error(*e)
	return &ours
}
