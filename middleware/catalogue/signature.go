package catalogue

import (
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"rlmproxy/pipeline/show"
)

const (
	maxSignature   = 400 // bytes of a signature without its text
	maxDescription = 160 // of the first sentence, in bytes
	maxEnum        = 5   // values of an enum that are shown
)

// Signature is a tool in a line: its name, its parameters, optional ones with a question mark,
// whether it only reads or may destroy, by its own word, and what it says first of itself.
//
//	fs_read_text_file(path: string, head?: number, tail?: number) [read-only] Read the contents of a file.
func Signature(definition []byte) string {
	line := gjson.GetBytes(definition, "name").String() + parameters(gjson.GetBytes(definition, "inputSchema"))
	switch a := gjson.GetBytes(definition, "annotations"); {
	case a.Get("readOnlyHint").Type == gjson.True:
		line += " [read-only]"
	case a.Get("destructiveHint").Type == gjson.True:
		line += " [destructive]"
	}
	if text := Summary(definition); text != "" {
		line += " " + text
	}
	return show.Printable(line)
}

// Summary is the first sentence of what a tool says of itself, clipped, or its title.
func Summary(definition []byte) string {
	text := Sentence(gjson.GetBytes(definition, "description").String())
	if text == "" {
		text = gjson.GetBytes(definition, "annotations.title").String()
	}
	if text == "" {
		text = gjson.GetBytes(definition, "title").String()
	}
	return Sentence(text)
}

// Sentence is the first sentence of a text, clipped, on one line.
func Sentence(text string) string {
	text, _ = sentence(cut(text, maxText))
	return show.Printable(show.ClipBytes(strings.Join(strings.Fields(text), " "), maxDescription))
}

// parameters are those of an object's schema, in parentheses.
func parameters(schema gjson.Result) string {
	required := map[string]bool{}
	schema.Get("required").ForEach(func(_, name gjson.Result) bool {
		required[name.String()] = true
		return true
	})
	var first, then []string // what is required comes first
	size, left := 0, 0
	schema.Get("properties").ForEach(func(name, of gjson.Result) bool {
		one := name.String() + "?: " + typeOf(of, 1)
		if required[name.String()] {
			one = name.String() + ": " + typeOf(of, 1)
		}
		switch {
		case size > maxSignature && !required[name.String()]:
			left++
		case required[name.String()]:
			first = append(first, one)
		default:
			then = append(then, one)
		}
		size += len(one)
		return size < 10*maxSignature
	})
	all := append(first, then...)
	if left > 0 {
		all = append(all, "… "+show.Count(left)+" more")
	}
	return "(" + strings.Join(all, ", ") + ")"
}

// typeOf is the type that a schema asks for, in a word or a few.
func typeOf(schema gjson.Result, depth int) string {
	if values := schema.Get("enum"); values.IsArray() {
		var shown []string
		list := values.Array()
		for _, v := range list[:min(len(list), maxEnum)] {
			shown = append(shown, show.ClipBytes(v.Raw, 30))
		}
		if len(list) > maxEnum {
			shown = append(shown, "…")
		}
		return strings.Join(shown, "|")
	}
	if v := schema.Get("const"); v.Exists() {
		return show.ClipBytes(v.Raw, 30)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list := schema.Get(key); list.IsArray() && depth > 0 {
			var types []string
			for _, of := range list.Array() {
				if t := typeOf(of, depth-1); len(types) < 4 && t != "null" && !strings.Contains(strings.Join(types, "|")+"|", t+"|") {
					types = append(types, t)
				}
			}
			return strings.Join(types, "|")
		}
	}
	t := schema.Get("type")
	if t.IsArray() {
		var types []string
		for _, of := range t.Array() {
			if of.String() != "null" {
				types = append(types, of.String())
			}
		}
		return strings.Join(types, "|")
	}
	switch {
	case t.String() == "array" && depth > 0:
		if of := typeOf(schema.Get("items"), depth-1); of != "any" {
			return of + "[]"
		}
		return "array"
	case t.String() == "object" && depth > 0 && schema.Get("properties").IsObject():
		inside := parametersBelow(schema)
		if len(inside) <= 80 {
			return inside
		}
		return "object"
	case t.String() != "":
		return show.ClipBytes(t.String(), 20)
	case schema.Get("properties").IsObject() || schema.Get("$ref").Exists():
		return "object"
	}
	return "any"
}

// parametersBelow are the properties of an object within parameters.
func parametersBelow(schema gjson.Result) string {
	all := strings.TrimSuffix(strings.TrimPrefix(parametersAt(schema, 0), "("), ")")
	return "{" + all + "}"
}

func parametersAt(schema gjson.Result, depth int) string {
	required := schema.Get("required").String()
	var all []string
	size := 0
	schema.Get("properties").ForEach(func(name, of gjson.Result) bool {
		mark := "?"
		if strings.Contains(required, `"`+name.String()+`"`) {
			mark = ""
		}
		one := name.String() + mark + ": " + typeOf(of, depth)
		size += len(one)
		all = append(all, one)
		return size < 100
	})
	return "(" + strings.Join(all, ", ") + ")"
}

// sentence cuts text behind its first sentence, or line.
func sentence(text string) (first, rest string) {
	text = strings.TrimSpace(text)
	for i, r := range text {
		switch r {
		case '\n':
			if i > 0 {
				return strings.TrimSpace(text[:i]), text[i:]
			}
		case '.', '!', '?', '。':
			after := text[i+utf8.RuneLen(r):]
			if i > 12 && (r == '。' || after == "" || strings.IndexByte(" \n\t", after[0]) >= 0) && !strings.HasSuffix(text[:i], "e.g") && !strings.HasSuffix(text[:i], "i.e") {
				return text[:i+utf8.RuneLen(r)], after
			}
		}
	}
	return text, ""
}

// cut is the beginning of text, of at most so many bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
