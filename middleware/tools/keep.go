package tools

import (
	"encoding/json"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline"
)

// keptAs stands before the id of a selection that was kept.
const keptAs = "kept as cache_id="

// keep keeps v, what was selected from d, under an id of its own, at any size. Nothing is
// kept of a selection that is empty.
func (c *call) keep(d *document, v pipeline.Value) error {
	if len(v.Data) == 0 {
		return nil
	}
	id, err := c.opts.Shaper.KeepValue(c.agent, c.origin(d, selecting(c.arguments)), v)
	d.kept = id
	return err
}

// selecting are arguments without those that say how a selection is shown: each page of it,
// in each format, is of the same id.
func selecting(arguments json.RawMessage) json.RawMessage {
	selects, all := []byte{'{'}, true
	_ = jsonscan.Members(objectOf(arguments), func(key string, value json.RawMessage) error {
		switch key {
		case "offset", "limit", "format", "whole":
			all = false
		default:
			selects = jsonscan.AppendMember(selects, key, value)
		}
		return nil
	})
	if all {
		return arguments
	}
	return append(selects, '}')
}
