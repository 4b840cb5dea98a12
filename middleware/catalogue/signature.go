package catalogue

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/show"
)

const (
	maxSignature   = 400 // bytes of a signature without its text
	maxDescription = 160 // of the first sentence, in bytes
	maxEnum        = 5   // values of an enum that are shown, or types
	maxLiteral     = 30  // bytes of one
	maxInside      = 80  // of the members of an object within
	maxName        = 64  // of a name
)

// Signature is a tool in a line: its name, its parameters, optional ones with a question mark,
// whether it only reads or may destroy, by its own word, and what it says first of itself.
//
//	fs_read_text_file(path: string, head?: number, tail?: number) [read-only] Read the contents of a file.
func Signature(definition []byte) string {
	line := word(gjson.GetBytes(definition, "name").String()) + parameters(gjson.GetBytes(definition, "inputSchema"))
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

// parameters are those of an object's schema, in parentheses; those that are required come
// first.
func parameters(schema gjson.Result) string {
	members, left := membersOf(schema, 1, maxSignature)
	if left > 0 {
		members = append(members, "… "+show.Count(left)+" more")
	}
	return "(" + strings.Join(members, ", ") + ")"
}

// membersOf are those of an object's schema, each with its type. Behind so many bytes, those
// that are not required are left out.
func membersOf(schema gjson.Result, depth, most int) (members []string, left int) {
	required := map[string]bool{}
	schema.Get("required").ForEach(func(_, name gjson.Result) bool {
		required[name.String()] = true
		return true
	})
	var optional []string
	size := 0
	schema.Get("properties").ForEach(func(name, of gjson.Result) bool {
		if size > most && !required[name.String()] || size > 10*most {
			left++
			return true
		}
		text := word(name.String())
		if required[name.String()] {
			text += ": " + typeOf(of, depth)
			members = append(members, text)
		} else {
			text += "?: " + typeOf(of, depth)
			optional = append(optional, text)
		}
		size += len(text)
		return true
	})
	return append(members, optional...), left
}

// word is a name as it is, or quoted where it could be read as something else.
func word(name string) string {
	if name != "" && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789_-.$/@") == "" {
		return show.ClipBytes(name, maxName)
	}
	return strconv.Quote(show.ClipBytes(name, maxName))
}

// typeOf is the type that a schema asks for, in a word or a few.
func typeOf(schema gjson.Result, depth int) string {
	if values := schema.Get("enum"); values.IsArray() {
		list := values.Array()
		var shown []string
		for _, v := range list[:min(len(list), maxEnum)] {
			shown = append(shown, literal(v))
		}
		if len(list) > maxEnum {
			shown = append(shown, "…")
		}
		return strings.Join(shown, "|")
	}
	if v := schema.Get("const"); v.Exists() {
		return literal(v)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list := schema.Get(key); list.IsArray() && depth > 0 {
			return oneOf(list.Array(), func(of gjson.Result) string { return typeOf(of, depth-1) })
		}
	}
	t := schema.Get("type")
	if t.IsArray() {
		return oneOf(t.Array(), func(of gjson.Result) string { return word(of.String()) })
	}
	hasProperties := schema.Get("properties").IsObject()
	switch {
	case t.String() == "array" && depth > 0:
		items := schema.Get("items")
		if items.Get("type").String() == "array" {
			depth--
		}
		if of := typeOf(items, depth); of != "any" {
			return of + "[]"
		}
	case t.String() == "object" && depth > 0 && hasProperties:
		if inside, left := membersOf(schema, 0, maxInside); left == 0 {
			return "{" + strings.Join(inside, ", ") + "}"
		}
	case t.String() == "" && (hasProperties || schema.Get("$ref").Exists()):
		return "object"
	case t.String() == "":
		return "any"
	}
	return word(t.String())
}

// oneOf are the first of some types, each once; that it may be null is left out.
func oneOf(list []gjson.Result, typeOf func(gjson.Result) string) string {
	var types []string
	for _, of := range list[:min(len(list), maxEnum)] {
		if t := typeOf(of); t != "null" && !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	if types == nil {
		return "any"
	}
	return strings.Join(types, "|")
}

// literal is a value as JSON, clipped.
func literal(v gjson.Result) string {
	return show.ClipBytes(string(jsonscan.AppendMinified(nil, []byte(v.Raw))), maxLiteral)
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
