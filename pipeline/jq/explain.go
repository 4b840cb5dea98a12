package jq

import (
	"strings"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
)

// runtimeError explains why a program failed on this document.
func runtimeError(err error, document any) *Error {
	msg := show.ClipBytes(strings.ToValidUTF8(err.Error(), "�"), 300)
	e := &Error{Code: doc.BadJQ, Text: "jq: " + msg, Err: err}
	_, list := document.([]any)
	_, text := document.(string)
	switch {
	case text && strings.Contains(msg, "but got: string"), text && strings.Contains(msg, "cannot iterate over: string"):
		e.Hint = `the document is text, one string: split("\n") | map(select(test("error")))`
	case strings.Contains(msg, "expected an object but got: array"):
		if list {
			e.Hint = "an array needs [] before a field; the document is one: .[] | …"
		} else {
			e.Hint = "an array needs [] before a field, as in .items[].id"
		}
	case strings.Contains(msg, "cannot iterate over: null"):
		e.Hint = "that field is missing here; []? and .field[]? skip what is not there"
	case strings.Contains(msg, "cannot iterate over"):
		e.Hint = "[] needs an array or object; []? skips others"
	case strings.Contains(msg, `but got: string ("{`), strings.Contains(msg, `but got: string ("[`):
		e.Hint = "that string holds JSON: .field | fromjson | .id"
	case strings.Contains(msg, "expected an object"), strings.Contains(msg, "expected an array"):
		e.Hint = ".field? skips values of another type; proxy_explore shows the types"
	case strings.Contains(msg, "cannot be matched"), strings.Contains(msg, "cannot be applied to"):
		e.Hint = `a field may be null or a number: (.field // "" | tostring) is a string`
	default:
		e.Hint = "proxy_explore shows fields and types"
	}
	return e
}
