package middleware

import (
	"slices"

	"rlmproxy/pipeline"
	"rlmproxy/pipeline/jq"
)

// A narrowing is the part of a pipeline that filter and search share.
type narrowing struct {
	fields, exclude []string
	jq              string
}

func (n *narrowing) params() []param {
	return []param{
		{"fields", &n.fields, `["name"]`},
		{"exclude", &n.exclude, ""},
		{"jq", &n.jq, ""},
	}
}

// stages are those that do it, for agent.
func (n *narrowing) stages(self string, pool *jq.Pool, agent string) (pipeline.Pipeline, error) {
	if n.jq != "" && len(n.fields)+len(n.exclude) > 0 {
		return nil, &pipeline.Error{Code: pipeline.BadArguments, Text: self + ": give jq or fields, not both",
			Hint: "select the fields in jq, as in .items[] | {name, id}"}
	}
	if slices.Contains(append(n.fields, n.exclude...), "") {
		return nil, &pipeline.Error{Code: pipeline.BadArguments, Text: self + ": an empty field name"}
	}
	switch {
	case n.jq != "":
		return pipeline.Pipeline{outside{&pipeline.JQ{Program: n.jq, Pool: pool, Agent: agent}}}, nil
	case len(n.fields)+len(n.exclude) > 0:
		return pipeline.Pipeline{&pipeline.Project{Fields: n.fields, Exclude: n.exclude}}, nil
	}
	return nil, nil
}
