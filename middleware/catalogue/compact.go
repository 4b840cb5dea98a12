package catalogue

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"rlmproxy/jsonscan"
)

// Compact is a definition in fewer tokens: the same tool, which takes the same arguments.
//
//   - $schema goes where it names the default dialect, or draft 7 and nothing in the schema is
//     read otherwise since,
//   - titles and descriptions go that only repeat a name, and blanks that indent text,
//   - additionalProperties: true and empty lists of required members go, which say nothing,
//   - a $ref to a part of the schema becomes that part where this is shorter.
//
// What it does not understand stays as it is.
func Compact(definition json.RawMessage) json.RawMessage {
	name := jsonscan.StringMember(definition, "name")
	out, err := jsonscan.Rewrite(definition, func(key string, value json.RawMessage) json.RawMessage {
		switch key {
		case "title":
			if repeats(value, name) {
				return nil
			}
		case "description":
			return shorter(value, "")
		case "inputSchema", "outputSchema":
			return CompactSchema(value)
		case "annotations":
			return without(value, func(key string, value json.RawMessage) bool { return key == "title" && repeats(value, name) })
		}
		return value
	})
	if err != nil {
		return definition
	}
	return jsonscan.AppendMinified(nil, out)
}

// CompactSchema is a schema as Compact has it.
func CompactSchema(schema json.RawMessage) json.RawMessage {
	if jsonscan.Kind(schema) != '{' || !jsonscan.Valid(schema, maxDepth) {
		return schema
	}
	schema = jsonscan.AppendMinified(nil, schema)
	if isDefaultDialect(schema) {
		schema = without(schema, func(key string, _ json.RawMessage) bool { return key == "$schema" })
	}
	return inlined(trimmed(schema, ""))
}

const maxDepth = 100 // of a schema that is looked into

// dialects are those that an MCP schema without $schema has, and the one before, in which
// most keywords mean the same.
const (
	dialect2020   = "https://json-schema.org/draft/2020-12/schema"
	dialectDraft7 = "http://json-schema.org/draft-07/schema"
)

// isDefaultDialect reports whether a schema means the same without its $schema.
func isDefaultDialect(schema json.RawMessage) bool {
	switch strings.TrimSuffix(jsonscan.StringMember(schema, "$schema"), "#") {
	case dialect2020:
		return true
	case dialectDraft7, strings.Replace(dialectDraft7, "http:", "https:", 1):
		same := true
		walk(schema, func(s json.RawMessage) {
			items := jsonscan.Member(s, "items")
			if jsonscan.Kind(items) == '[' {
				same = false
			}
			ref := jsonscan.Member(s, "$ref")
			for key := range jsonscan.Fields(s) {
				switch k := jsonscan.Unquote(key); {
				case k == "$id", k == "additionalItems", k == "dependencies",
					// which draft 7 does not know, so that they say nothing there
					k == "prefixItems", k == "$anchor", k == "$dynamicRef", k == "$dynamicAnchor", k == "dependentRequired", k == "dependentSchemas",
					k == "unevaluatedItems", k == "unevaluatedProperties", k == "minContains", k == "maxContains",
					// beside $ref nothing counts there
					ref != nil && k != "$ref" && k != "description" && k != "title" && k != "definitions" && k != "$defs" && k != "default" && k != "$schema":
					same = false
				}
			}
		})
		return same
	}
	return false
}

// What of a schema is a schema, a list of them, or an object of them by name.
var (
	schemaKeys = map[string]bool{
		"additionalProperties": true, "items": true, "additionalItems": true, "contains": true, "not": true, "if": true, "then": true, "else": true,
		"propertyNames": true, "unevaluatedItems": true, "unevaluatedProperties": true, "contentSchema": true,
	}
	listKeys = map[string]bool{"allOf": true, "anyOf": true, "oneOf": true, "prefixItems": true, "items": true}
	mapKeys  = map[string]bool{"properties": true, "patternProperties": true, "$defs": true, "definitions": true, "dependentSchemas": true, "dependencies": true}
)

// below rewrites the schemas that a member of a schema holds; name is that of a property, or
// "".
func below(key string, value json.RawMessage, f func(schema json.RawMessage, name string) json.RawMessage) json.RawMessage {
	switch kind := jsonscan.Kind(value); {
	case schemaKeys[key] && kind == '{':
		return f(value, "")
	case listKeys[key] && kind == '[':
		out := []byte{'['}
		for _, of := range jsonscan.Items(value) {
			out = jsonscan.AppendElement(out, f(of, ""))
		}
		return append(out, ']')
	case mapKeys[key] && kind == '{':
		return rewritten(value, func(name string, of json.RawMessage) json.RawMessage { return f(of, name) })
	}
	return value
}

// rewritten is [jsonscan.Rewrite], or the object as it is where it is none.
func rewritten(object json.RawMessage, f func(key string, value json.RawMessage) json.RawMessage) json.RawMessage {
	out, err := jsonscan.Rewrite(object, f)
	if err != nil {
		return object
	}
	return out
}

// walk calls f with a schema and all that are in it.
func walk(schema json.RawMessage, f func(schema json.RawMessage)) {
	if jsonscan.Kind(schema) != '{' {
		return
	}
	f(schema)
	for key, value := range jsonscan.Fields(schema) {
		below(jsonscan.Unquote(key), value, func(of json.RawMessage, _ string) json.RawMessage {
			walk(of, f)
			return of
		})
	}
}

// trimmed is a schema of a property of that name, or of none, without what says nothing.
func trimmed(schema json.RawMessage, name string) json.RawMessage {
	if jsonscan.Kind(schema) != '{' {
		return schema
	}
	return rewritten(schema, func(key string, value json.RawMessage) json.RawMessage {
		switch {
		case key == "title" && name != "" && repeats(value, name):
			return nil
		case key == "description":
			return shorter(value, name)
		case key == "additionalProperties" && (string(value) == "true" || string(value) == "{}"),
			key == "required" && string(value) == "[]",
			(key == "$defs" || key == "definitions") && string(value) == "{}":
			return nil
		}
		return below(key, value, trimmed)
	})
}

// repeats reports whether a string says nothing but a name.
func repeats(value json.RawMessage, name string) bool {
	return gjson.ParseBytes(value).Type == gjson.String && letters(jsonscan.Unquote(value)) == letters(name)
}

// letters are those of text, in lower case, and its digits.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" _-.:", r) {
			return -1
		}
		return r
	}, strings.ToLower(text))
}

// shorter is a description without blanks at ends of lines, and without lines that are said
// twice; nil where it only repeats the name.
func shorter(value json.RawMessage, name string) json.RawMessage {
	if gjson.ParseBytes(value).Type != gjson.String {
		return value
	}
	if name != "" && repeats(value, name) {
		return nil
	}
	text := jsonscan.Unquote(value)
	var lines []string
	seen := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimRight(line, " \t\r\n")
		switch bare := strings.TrimSpace(line); {
		case bare == "" && (len(lines) == 0 || lines[len(lines)-1] == ""):
		case len(bare) > 40 && seen[bare]:
		default:
			seen[bare] = true
			lines = append(lines, line)
		}
	}
	if short := strings.Join(lines, "\n"); short != text {
		return jsonscan.Quote(short)
	}
	return value
}

// without is an object without the members of which drop says so.
func without(object json.RawMessage, drop func(key string, value json.RawMessage) bool) json.RawMessage {
	if jsonscan.Kind(object) != '{' {
		return object
	}
	return rewritten(object, func(key string, value json.RawMessage) json.RawMessage {
		if drop(key, value) {
			return nil
		}
		return value
	})
}

// maxInlining bounds the definitions of a schema times its bytes, for each that is put in
// rewrites it. It takes some 0.1 s.
const maxInlining = 5_000_000

// inlined is a schema in which a $ref is what it refers to, where this makes all of it
// shorter. It looks at schemas all of whose references are plain ones to the $defs or
// definitions of their root, none of which leads to itself.
func inlined(schema json.RawMessage) json.RawMessage {
	key := "$defs"
	if jsonscan.Member(schema, key) == nil {
		key = "definitions"
	}
	defs := map[string]json.RawMessage{}
	for name, def := range jsonscan.Fields(jsonscan.Member(schema, key)) {
		defs[jsonscan.Unquote(name)] = def
	}
	if len(defs) == 0 || len(defs)*len(schema) > maxInlining {
		return schema
	}
	uses, plain := references(schema, "#/"+key+"/", defs)
	if !plain {
		return schema
	}
	// A definition of which others are made is put in once they are whole.
	for range len(defs) {
		name, ok := inlinable(defs, uses, "#/"+key+"/")
		if !ok {
			break
		}
		def := defs[name]
		delete(defs, name)
		schema = replaced(schema, key, name, def)
		for other := range defs {
			defs[other] = jsonscan.Member(jsonscan.Member(schema, key), other)
		}
		uses, _ = references(schema, "#/"+key+"/", defs)
	}
	return trimmed(schema, "")
}

// references counts what refers to each definition. Plain reports whether nothing else
// refers to anything, and whether nothing stands beside a reference.
func references(schema json.RawMessage, prefix string, defs map[string]json.RawMessage) (uses map[string]int, plain bool) {
	uses, plain = map[string]int{}, true
	walk(schema, func(s json.RawMessage) {
		for key, value := range jsonscan.Fields(s) {
			switch k := jsonscan.Unquote(key); k {
			case "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef":
				plain = false
			case "$ref":
				name, ours := strings.CutPrefix(jsonscan.Unquote(value), prefix)
				if !ours || defs[name] == nil || bytes.Count(s, []byte(`":`)) != 1 {
					plain = false
				}
				uses[name]++
			}
		}
	})
	return uses, plain
}

// inlinable is a definition without references that takes fewer bytes where it is used.
func inlinable(defs map[string]json.RawMessage, uses map[string]int, prefix string) (name string, ok bool) {
	for n, def := range defs {
		ref := len(`{"$ref":"`) + len(prefix) + len(n) + len(`"}`)
		whole := len(n) + len(`"":,`) + len(def) + uses[n]*ref
		if uses[n]*len(def) < whole && !bytes.Contains(def, []byte(`"$ref"`)) && (!ok || n < name) {
			name, ok = n, true
		}
	}
	return name, ok
}

// replaced is a schema with a definition in the places that refer to it.
func replaced(schema json.RawMessage, key, name string, def json.RawMessage) json.RawMessage {
	ref := string(jsonscan.Quote("#/" + key + "/" + name))
	var put func(s json.RawMessage, _ string) json.RawMessage
	put = func(s json.RawMessage, _ string) json.RawMessage {
		if jsonscan.Kind(s) != '{' {
			return s
		}
		if string(jsonscan.Member(s, "$ref")) == ref {
			return def
		}
		return rewritten(s, func(k string, value json.RawMessage) json.RawMessage { return below(k, value, put) })
	}
	schema = put(schema, "")
	return rewritten(schema, func(k string, value json.RawMessage) json.RawMessage {
		if k == key {
			return without(value, func(n string, _ json.RawMessage) bool { return n == name })
		}
		return value
	})
}
