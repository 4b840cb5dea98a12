// Package catalogue holds the tools of real servers, and what agents ask for
// when they look for one: what a search over a catalogue of tools is judged by.
//
//	data/tools.json.gz → Servers → the tools as each server listed them
//	queries.json       → Queries → what is asked, and the tools that are right
//
// README.md names the source and licence of each server, and says how the
// queries were written.
package catalogue

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

//go:embed data/tools.json.gz
var packed []byte

//go:embed queries.json
var queries []byte

// A Server is one that offers tools.
type Server struct {
	Name    string // as a person would name it in a configuration; no slash
	Package string // name@version
	Licence string // SPDX
	Tools   []json.RawMessage
}

// Servers lists the servers by name, each with its tools in its order, byte for
// byte. It takes 20 ms.
func Servers() ([]Server, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("catalogue: tools: %w", err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("catalogue: tools: %w", err)
	}
	var file struct{ Servers []Server }
	if err := json.Unmarshal(b, &file); err != nil {
		return nil, fmt.Errorf("catalogue: tools: %w", err)
	}
	return file.Servers, nil
}

// A Tool names a tool of a server. In JSON it is "server/tool".
type Tool struct{ Server, Name string }

func (t Tool) String() string { return t.Server + "/" + t.Name }

// UnmarshalText reads what [Tool.String] prints.
func (t *Tool) UnmarshalText(b []byte) error {
	server, name, ok := strings.Cut(string(b), "/")
	if !ok || server == "" || name == "" {
		return fmt.Errorf("%q is no server/tool", b)
	}
	t.Server, t.Name = server, name
	return nil
}

// Kinds lists the kinds of queries.
var Kinds = []string{
	"words",    // one or two of them
	"phrase",   // a task in a few words
	"question", // what the agent wants to know
	"sentence", // a whole one, with why and for whom
	"server",   // with the server's name in it
	"twin",     // two servers have nearly the same tool, and the query says which one is meant
	"typo",     // a word misspelt
}

// A Query is what an agent asks when it looks for a tool.
type Query struct {
	Query string // what somebody wants, in their words
	Agent string // what an agent that is to do this asks for, knowing only the servers' names
	Kind  string // one of Kinds
	Tools []Tool // each of them is right
}

// Queries lists the queries, in their file's order.
func Queries() ([]Query, error) {
	var list []Query
	if err := json.Unmarshal(queries, &list); err != nil {
		return nil, fmt.Errorf("catalogue: queries: %w", err)
	}
	return list, nil
}
