package catalogue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp/syntax"
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
	// minArguments is what short arguments count as, in bytes, for to compile a schema takes
	// time as well.
	minArguments = 1000
	// maxPatterns bounds the steps of all patterns of a schema, compiled. One takes 40 bytes.
	maxPatterns = 50_000
)

// Check says what is wrong with the arguments of a call, by the schema of its tool, or
// returns "". A schema that cannot be used says nothing: one that is no schema, refers to
// others, to itself, or would take long.
func Check(schema, arguments json.RawMessage) string {
	wrong, _ := check(schema, arguments)
	return wrong
}

// CheckAll is Check, but that arguments which cannot be held against the schema are wrong.
func CheckAll(schema, arguments json.RawMessage) string {
	wrong, unchecked := check(schema, arguments)
	if wrong == "" && unchecked != "" {
		wrong = "the arguments cannot be held against the input schema: " + unchecked
	}
	return wrong
}

// check says what is wrong with arguments, or why that cannot be said.
func check(schema, arguments json.RawMessage) (invalid, unchecked string) {
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = json.RawMessage("{}")
	}
	compiled, unusable := usable(schema, len(arguments))
	if unusable != "" {
		return "", unusable
	}
	var instance any
	if json.Unmarshal(arguments, &instance) != nil {
		return "", "they have a number that is too large"
	}
	var failed *jsonschema.ValidationError
	if err := compiled.Validate(instance); errors.As(err, &failed) {
		return wrong(failed), ""
	}
	return "", ""
}

// CheckSchema says why arguments of a few kilobytes could not be held against a schema, or
// returns "".
func CheckSchema(schema json.RawMessage) string {
	_, unusable := usable(schema, 16<<10)
	return unusable
}

// usable compiles a schema for arguments of n bytes, or says why it cannot be used.
func usable(schema json.RawMessage, n int) (compiled *jsonschema.Schema, unusable string) {
	if len(schema) == 0 || len(schema) > maxSchemaBytes || !jsonscan.Valid(schema, maxDepth) {
		return nil, "it is not JSON, or too large or deep"
	}
	var doc any
	if json.Unmarshal(schema, &doc) != nil {
		return nil, "it has a number that is too large"
	}
	once, err := json.Marshal(doc) // of members of one name the last, which is the one that is compiled
	if err != nil || cost(once)*max(n, minArguments) > maxWork {
		return nil, "to hold arguments against it would take long, or it refers to itself or to another schema"
	}
	if compiled, err = compile(once); err != nil {
		return nil, "it is no JSON Schema: " + whyInvalid(err)
	}
	return compiled, ""
}

// whyInvalid is what is wrong with a schema, by the schema of schemas.
func whyInvalid(err error) string {
	var schema *jsonschema.SchemaValidationError
	if errors.As(err, &schema) {
		err = schema.Err
	}
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		return wrong(invalid)
	}
	return show.Printable(show.ClipBytes(err.Error(), maxReason))
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
	maxSorted = 50  // of which the first are said
	maxReason = 200 // bytes of what is wrong with one
	// maxReasons is maxReason for one that would have to be as one of several schemas says.
	maxReasons = 1000
)

// wrong is what an error says, each thing with its place: "/path: got number, want string".
func wrong(e *jsonschema.ValidationError) string {
	var all []string
	more := 0
	var add func(e *jsonschema.ValidationError)
	add = func(e *jsonschema.ValidationError) {
		switch e.ErrorKind.(type) {
		case *kind.AnyOf, *kind.OneOf: // one of the alternatives would do
			var each []string
			for _, cause := range e.Causes {
				if text := wrong(cause); len(each) < maxWrong && !slices.Contains(each, text) {
					each = append(each, text)
				}
			}
			if len(each) > 0 {
				slices.Sort(each)
				all = append(all, show.ClipBytes(strings.Join(each, ", or "), maxReasons))
				return
			}
		}
		if len(e.Causes) > 0 {
			for _, cause := range e.Causes {
				add(cause)
			}
			return
		}
		if len(all) >= maxSorted {
			more++
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
	if more += len(all) - maxWrong; more > 0 {
		all = append(all[:maxWrong], fmt.Sprintf("%d more", more))
	}
	return strings.Join(all, "; ")
}

var english = message.NewPrinter(language.English)

// cost is the number of schemas that may be held against one value, with what is referred to
// counted each time, and what else is gone through: steps of patterns, values of an enum. It
// is maxWork for those that refer to themselves, or elsewhere, and where a reference may mean
// another schema than it does here.
func cost(schema json.RawMessage) int {
	patterns, named := 0, 0
	walk(schema, func(s json.RawMessage) {
		for key, value := range jsonscan.Fields(s) {
			switch jsonscan.Unquote(key) {
			case "pattern":
				patterns += steps(jsonscan.Unquote(value))
			case "patternProperties":
				for name := range jsonscan.Fields(value) {
					patterns += steps(jsonscan.Unquote(name))
				}
			case "$id", "id": // what is below is a document of its own, with references of its own
				named++
			}
		}
	})
	if root := jsonscan.Member(schema, "$id"); root != nil {
		named--
	}
	if patterns > maxPatterns || named > 0 {
		return maxWork
	}
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
				n += steps(jsonscan.Unquote(value))
			case k == "enum" || k == "const" || k == "required" || k == "dependentRequired":
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
					switch {
					case k == "patternProperties":
						n += steps(name)
					case k == "dependencies":
						n += len(inner) // which may be a list of names
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

// steps is how long a pattern is where its repetitions are written out, as it is compiled. One
// that is none has its length.
func steps(pattern string) int {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return len(pattern)
	}
	var of func(re *syntax.Regexp) int
	of = func(re *syntax.Regexp) int {
		n := 1 + len(re.Rune)
		for _, sub := range re.Sub {
			n += of(sub)
		}
		if re.Op == syntax.OpRepeat {
			n *= max(re.Min, re.Max, 1)
		}
		return n
	}
	return of(parsed)
}

// at is what a reference within a schema refers to, or nil.
func at(schema json.RawMessage, ref string) json.RawMessage {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || path != "" && path[0] != '/' || strings.Contains(path, "%") { // a letter in another form
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
