package catalogue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/show"
)

const (
	// maxSchemaBytes is how large a schema is that arguments are held against. The largest
	// of 300 tools in bench/catalogue has a tenth of it.
	maxSchemaBytes = 256 << 10
	// maxWork bounds schemas of a definition, each where it is used, times bytes of
	// arguments: what it may cost to hold one against the other. It takes under a second.
	maxWork = 50_000_000
)

// Check says what is wrong with the arguments of a call, by the schema of its tool, or
// returns "". A schema that cannot be used says nothing: one that is no schema, refers to
// others, to itself, or would take long.
func Check(schema, arguments json.RawMessage) string {
	if len(schema) == 0 || len(schema) > maxSchemaBytes || !jsonscan.Valid(schema, maxDepth) {
		return ""
	}
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = json.RawMessage("{}")
	}
	if cost(schema)*len(arguments) > maxWork {
		return ""
	}
	compiled, err := compile(schema)
	if err != nil {
		return ""
	}
	var instance any
	if json.Unmarshal(arguments, &instance) != nil { // a number that is too large, for one
		return ""
	}
	var invalid *jsonschema.ValidationError
	if err := compiled.Validate(instance); errors.As(err, &invalid) {
		return wrong(invalid)
	}
	return ""
}

// compile compiles a schema, 2020-12 if it does not say another. Numbers are read as floats:
// those of any length would take any time.
func compile(schema json.RawMessage) (*jsonschema.Schema, error) {
	var doc any
	if err := json.Unmarshal(schema, &doc); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.DefaultDraft(jsonschema.Draft2020)
	for _, name := range formats {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	return c.Compile(schemaURL)
}

// formats are those that schemas of draft 7 and older are held against, where newer ones take
// them for notes. A server that means them says so itself.
var formats = strings.Fields("json-pointer relative-json-pointer uuid duration period hostname email date time date-time uri iri uri-reference iri-reference uri-template semver ipv4 ipv6 idn-email idn-hostname")

const schemaURL = "tool:arguments"

// noLoader refuses what a schema refers to outside of it: files, and what the network has.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errElsewhere }

var errElsewhere = errors.New("the schema refers to another")

const (
	maxWrong  = 10  // things that are said to be wrong
	maxReason = 200 // bytes of what is wrong with one
)

// wrong is what an error says, each thing with its place: "/path: got number, want string".
func wrong(e *jsonschema.ValidationError) string {
	var all []string
	var add func(e *jsonschema.ValidationError)
	add = func(e *jsonschema.ValidationError) {
		switch e.ErrorKind.(type) {
		case *kind.AnyOf, *kind.OneOf: // one of the alternatives would do
			var each []string
			for _, cause := range e.Causes {
				if text := wrong(cause); !slices.Contains(each, text) {
					each = append(each, text)
				}
			}
			if len(each) > 0 {
				slices.Sort(each)
				all = append(all, strings.Join(each, ", or "))
				return
			}
		}
		if len(e.Causes) > 0 {
			for _, cause := range e.Causes {
				add(cause)
			}
			return
		}
		text := e.ErrorKind.LocalizedString(english)
		if len(e.InstanceLocation) > 0 {
			text = "/" + strings.Join(e.InstanceLocation, "/") + ": " + text
		}
		all = append(all, show.Printable(show.ClipBytes(text, maxReason)))
	}
	add(e)
	slices.Sort(all) // the validator has no order
	if more := len(all) - maxWrong; more > 0 {
		all = append(all[:maxWrong], fmt.Sprintf("%d more", more))
	}
	return strings.Join(all, "; ")
}

var english = message.NewPrinter(language.English)

// cost is the number of schemas that may be held against one value, with what is referred to
// counted each time, and bytes of patterns; maxWork for those that refer to themselves, or elsewhere.
func cost(schema json.RawMessage) int {
	known := map[string]int{}
	running := map[string]bool{}
	var of func(s json.RawMessage) int
	of = func(s json.RawMessage) int {
		n := 1
		for key, value := range jsonscan.Fields(s) {
			k := jsonscan.Unquote(key)
			switch {
			case k == "$defs" || k == "definitions":
				continue
			case k == "$dynamicRef" || k == "$recursiveRef":
				return maxWork
			case k == "pattern":
				n += len(value)
			case k == "$ref":
				ref := jsonscan.Unquote(value)
				if running[ref] {
					return maxWork
				}
				if c, ok := known[ref]; ok {
					n += c
					break
				}
				target := at(schema, ref)
				if target == nil {
					return maxWork
				}
				running[ref] = true
				known[ref] = of(target)
				delete(running, ref)
				n += known[ref]
			default:
				below(k, value, func(inner json.RawMessage, name string) json.RawMessage {
					if k == "patternProperties" {
						n += len(name)
					}
					if jsonscan.Kind(inner) == '{' {
						n += of(inner)
					}
					return inner
				})
			}
			if n >= maxWork {
				return maxWork
			}
		}
		return n
	}
	return of(schema)
}

// at is what a reference within a schema refers to, or nil.
func at(schema json.RawMessage, ref string) json.RawMessage {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || path != "" && path[0] != '/' {
		return nil
	}
	value := schema
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if path == "" {
			break
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		if jsonscan.Kind(value) != '{' {
			return nil
		}
		if value = jsonscan.Member(value, part); value == nil {
			return nil
		}
	}
	return value
}
