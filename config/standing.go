package config

import (
	"errors"
	"strings"

	"rlmproxy/pipeline"
)

// What stands in the file for every call is checked as an agent's is, so that a slip stops
// the start and not each call.

// paths are the fields that the array n names.
func (r *reader) paths(n node) []string {
	return r.checked(n, func(text string) error {
		if text == "" {
			return errors.New("a field name is empty")
		}
		_, err := pipeline.ParsePath(text)
		return err
	})
}

// hidden are the fields that the array n hides.
func (r *reader) hidden(n node) []string {
	return r.checked(n, func(text string) error {
		_, err := pipeline.NewHide([]string{text})
		return err
	})
}

// checked are the strings of the array n, of which check knows what is wrong.
func (r *reader) checked(n node, check func(text string) error) []string {
	list := r.texts(n)
	for i, each := range n.elements() {
		if each.kind() == '"' {
			r.refuse(each, check(list[i]))
		}
	}
	return list
}

// program is the jq program n.
func (r *reader) program(n node) string {
	text := r.text(n)
	if strings.TrimSpace(text) == "" && n.kind() == '"' {
		r.mistake(n, "an empty jq program", "leave jq out")
	} else if text != "" {
		r.refuse(n, (&pipeline.JQ{Program: text}).Check())
	}
	return text
}

// refuse notes err, if any, at the place of n. Its first line says what is wrong; lines
// below it show where.
func (r *reader) refuse(n node, err error) {
	if err == nil || len(r.mistakes) == maxKept {
		return
	}
	text, hint := err.Error(), ""
	if e, ok := errors.AsType[*pipeline.Error](err); ok {
		text, hint = e.Text, e.Hint
	}
	first, excerpt, _ := strings.Cut(text, "\n")
	if n.key == "jq" {
		hint = "" // it is for agents
	}
	r.mistake(n, first, hint)
	r.mistakes[len(r.mistakes)-1].Excerpt = excerpt
}
