package catalogue

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"rlmproxy/jsonscan"
)

// Values are what a person gives for an entry, by the name of a parameter or variable.
type Values map[string][]string

// Arguments puts arguments in the places of the parameters, in order.
func (e *Entry) Arguments(args []string) (Values, error) {
	values := Values{}
	for _, p := range e.Parameters {
		n := min(len(args), 1)
		if p.Many {
			n = len(args)
		}
		if n > 0 {
			values[p.Name] = args[:n]
			args = args[n:]
		}
	}
	if len(args) > 0 {
		return nil, fmt.Errorf("%s takes no argument %q", e.Usage(), args[0])
	}
	return values, nil
}

// Usage is how the entry is added: its name, and its parameters.
func (e *Entry) Usage() string {
	usage := e.Name
	for _, p := range e.Parameters {
		shown := strings.ToUpper(p.Name)
		if p.Many {
			shown += "…"
		}
		if p.Optional {
			shown = "[" + shown + "]"
		}
		usage += " " + shown
	}
	return usage
}

// Set gives a parameter or variable a value.
func (e *Entry) Set(values Values, name, value string) error {
	names := e.References()
	for _, p := range e.Parameters {
		names = append(names, p.Name)
	}
	if !slices.Contains(names, name) {
		if len(names) == 0 {
			return fmt.Errorf("%s has nothing to set", e.Name)
		}
		return fmt.Errorf("%s has no %q; it has %s", e.Name, name, strings.Join(names, ", "))
	}
	values[name] = append(values[name], value)
	return nil
}

// reference is ${NAME} or ${NAME:-default}.
var reference = regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// References are the variables that the server refers to, in order.
func (e *Entry) References() []string { return references(e.Server) }

func references(server json.RawMessage) (names []string) {
	for _, m := range reference.FindAllSubmatch(server, -1) {
		if name := string(m[1]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Missing are the variables that a server refers to without a default, and that set does not
// know.
func Missing(server json.RawMessage, set func(name string) bool) (names []string) {
	for _, m := range reference.FindAllSubmatch(server, -1) {
		if name := string(m[1]); len(m[2]) == 0 && !set(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// secret is ${keyring:NAME}.
var secret = regexp.MustCompile(`\$\{keyring:([^}]+)\}`)

// Kept are the names of the secrets that a server refers to in the keyring.
func Kept(server json.RawMessage) (names []string) {
	for _, m := range secret.FindAllSubmatch(server, -1) {
		if name := string(m[1]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Fill is the server with values in the places of parameters and variables. A string with a
// parameter that has no value is left out, as is an object that has nothing else.
func (e *Entry) Fill(values Values) (json.RawMessage, error) {
	for _, p := range e.Parameters {
		switch given := values[p.Name]; {
		case len(given) == 0 && !p.Optional:
			return nil, fmt.Errorf("%s is missing: %s", strings.ToUpper(p.Name), p.Description)
		case len(given) > 1 && !p.Many:
			return nil, fmt.Errorf("%s is given %d times", strings.ToUpper(p.Name), len(given))
		}
	}
	return e.filled(e.Server, values), nil
}

// filled is value with values in it, or nil if it is a string that is left out.
func (e *Entry) filled(value json.RawMessage, values Values) json.RawMessage {
	switch jsonscan.Kind(value) {
	case '{':
		out := []byte{'{'}
		_ = jsonscan.Members(value, func(key string, member json.RawMessage) error {
			if member = e.filled(member, values); member != nil {
				out = jsonscan.AppendMember(out, key, member)
			}
			return nil
		})
		if len(out) == 1 && len(value) > len("{}") { // all that it had is left out
			return nil
		}
		return append(out, '}')
	case '[':
		out := []byte{'['}
		_ = jsonscan.Elements(value, func(element json.RawMessage) error {
			for _, each := range e.each(element, values) {
				out = jsonscan.AppendElement(out, each)
			}
			return nil
		})
		return append(out, ']')
	case '"':
		return e.text(jsonscan.Unquote(value), values)
	}
	return value
}

// each is an element of a list with values in it: several where it is a parameter that takes
// many.
func (e *Entry) each(element json.RawMessage, values Values) (list []json.RawMessage) {
	for _, p := range e.Parameters {
		if p.Many && jsonscan.Kind(element) == '"' && jsonscan.Unquote(element) == "<"+p.Name+">" {
			for _, v := range values[p.Name] {
				list = append(list, jsonscan.Quote(v))
			}
			return list
		}
	}
	if one := e.filled(element, values); one != nil {
		list = append(list, one)
	}
	return list
}

// text is a string with values in it, or nil.
func (e *Entry) text(s string, values Values) json.RawMessage {
	var pairs []string
	for _, p := range e.Parameters {
		hole := "<" + p.Name + ">"
		if strings.Contains(s, hole) && len(values[p.Name]) == 0 {
			return nil
		}
		pairs = append(pairs, hole, strings.Join(values[p.Name], ","))
	}
	for _, name := range references(json.RawMessage(s)) {
		if given := values[name]; len(given) > 0 {
			for _, m := range reference.FindAllString(s, -1) {
				if references(json.RawMessage(m))[0] == name {
					pairs = append(pairs, m, given[len(given)-1])
				}
			}
		}
	}
	return jsonscan.Quote(strings.NewReplacer(pairs...).Replace(s))
}
