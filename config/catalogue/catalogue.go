// Package catalogue has servers that are known, each an entry of mcp.json with a policy.
//
//	catalogue.json, a file of one's own ─► Catalogue ─ Entry.Fill(values) ─► a server ─ Put ─► mcp.json as it would be
//
// Nothing here opens a file.
package catalogue

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"rlmproxy/config"
)

//go:embed catalogue.json
var embedded []byte

// What a catalogue may have.
const (
	maxEntries    = 1000
	maxParameters = 10
	maxText       = 1000 // bytes of a description or note
)

// An Entry is a server that can be added by its name.
type Entry struct {
	Name        string `json:"-"`
	Description string `json:"description"` // a sentence for who looks for a server
	Homepage    string `json:"homepage,omitempty"`
	Licence     string `json:"licence,omitempty"`
	// Needs is what must be there beside the command, for people to read.
	Needs []string `json:"needs,omitempty"`
	// Note is what to know before it is used.
	Note string `json:"note,omitempty"`
	// Parameters are what the person gives, in the order of arguments.
	Parameters []Parameter `json:"parameters,omitempty"`
	// Variables says of each ${NAME} in Server where its value comes from.
	Variables map[string]string `json:"variables,omitempty"`
	// SignIn says that a browser signs in to it: rlmproxy auth login.
	SignIn bool `json:"signIn,omitempty"`
	// Offline says that it starts, and lists its tools, without a network or an account.
	Offline bool `json:"offline,omitempty"`
	// Server is as in mcp.json. In its strings, <name> stands for a parameter.
	Server json.RawMessage `json:"server"`
}

// A Parameter is what a person gives for an entry.
type Parameter struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Kind is "folder" or "file", of which one is there, "path", of which there need be none,
	// "url", or "text", the zero value.
	Kind string `json:"kind,omitempty"`
	// Optional ones may be left out, with the string of Server that they stand in.
	Optional bool `json:"optional,omitempty"`
	// Many says that it takes all arguments that are left, and is a string of its own in a list.
	Many bool `json:"many,omitempty"`
}

// samples are values of each kind.
var samples = map[string]string{"": "x", "text": "x", "folder": "/x", "file": "/x", "path": "/x", "url": "https://example.com"}

// A Catalogue is entries by name.
type Catalogue map[string]*Entry

// Embedded is the catalogue that the program has.
func Embedded() (Catalogue, error) { return Parse("the catalogue of rlmproxy", embedded) }

// Over is c with the entries of other, which win over those of the same name.
func (c Catalogue) Over(other Catalogue) Catalogue {
	all := maps.Clone(c)
	maps.Copy(all, other)
	return all
}

// Names are those of the entries, in order.
func (c Catalogue) Names() []string { return slices.Sorted(maps.Keys(c)) }

// Parse reads a catalogue: JSON with comments, {"entries": {NAME: entry}}. The error has a line
// for each entry with a mistake.
func Parse(path string, data []byte) (Catalogue, error) {
	tree, err := config.ParseJSON(path, data)
	if err != nil {
		return nil, err
	}
	tree = hujson.Value{Value: tree.Clone().Value}
	tree.Standardize()
	var file struct {
		Entries map[string]json.RawMessage `json:"entries"`
	}
	if err := strictly(tree.Pack(), &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if n := len(file.Entries); n == 0 || n > maxEntries {
		return nil, fmt.Errorf(`%s: "entries" has %d servers, of 1 to %d`, path, n, maxEntries)
	}
	c := Catalogue{}
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(file.Entries)) {
		e := &Entry{Name: name}
		err := strictly(file.Entries[name], e)
		if err == nil {
			err = e.check()
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: entry %.80q: %w", path, name, err))
		}
		c[name] = e
	}
	if wrong != nil {
		return nil, errors.Join(wrong...)
	}
	return c, nil
}

// strictly decodes JSON whose members all have a place.
func strictly(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%q must not be %s", wrong.Field, wrong.Value)
	}
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

var (
	entryName     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	parameterName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)
)

// check is what is wrong with an entry.
func (e *Entry) check() error {
	switch {
	case !entryName.MatchString(e.Name):
		return errors.New("a name has letters, digits, '.', '_' and '-', and begins with one of the first two")
	case e.Description == "":
		return errors.New("description is missing")
	case len(e.Description) > maxText || len(e.Note) > maxText:
		return fmt.Errorf("description and note have at most %d bytes", maxText)
	case e.Server == nil:
		return errors.New("server is missing")
	case len(e.Parameters) > maxParameters:
		return fmt.Errorf("%d parameters, of at most %d", len(e.Parameters), maxParameters)
	}
	values := Values{}
	for i, p := range e.Parameters {
		values[p.Name] = []string{samples[p.Kind]}
		switch {
		case !parameterName.MatchString(p.Name):
			return fmt.Errorf("parameter %.80q: a name has small letters, digits and '_', and begins with a letter", p.Name)
		case slices.ContainsFunc(e.Parameters[:i], func(other Parameter) bool { return other.Name == p.Name }):
			return fmt.Errorf("parameter %q is there twice", p.Name)
		case samples[p.Kind] == "":
			return fmt.Errorf(`parameter %q: kind is "text", "folder", "file", "path" or "url"`, p.Name)
		case p.Many && i < len(e.Parameters)-1:
			return fmt.Errorf("parameter %q: only the last one may take many", p.Name)
		case i > 0 && e.Parameters[i-1].Optional && !p.Optional:
			return fmt.Errorf("parameter %q: none that is needed stands behind an optional one", p.Name)
		case !bytes.Contains(e.Server, []byte("<"+p.Name+">")):
			return fmt.Errorf("parameter %q: server has no <%s>", p.Name, p.Name)
		}
	}
	server, err := e.Fill(values)
	var file []byte
	if err == nil {
		file, err = Put("", nil, e.Name, server, false)
	}
	if err == nil {
		_, err = config.Parse("", file)
	}
	var mistakes config.ErrorList
	if errors.As(err, &mistakes) { // whose lines are those of a file that is not there
		return fmt.Errorf("%s: %s", strings.TrimPrefix(mistakes[0].Key, "mcpServers."+e.Name+"."), mistakes[0].Text)
	}
	return err
}
