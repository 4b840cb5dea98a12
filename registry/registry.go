// Package registry keeps the tools that agents make at run time.
//
//	Put(tool, revision) ─► [Folder]: one file, replaced as a whole under a lock
//	                    └► [Postgres]: a row for each tool
//	Follow ◄── told of each change, by whichever process that has the store open
//
// Every change has a revision, which no other change of the store ever has. Who changes a tool
// says which revision it means: of two who change the same one, the second is refused.
//
// What a store holds may have been written by anybody who can write there: [Store.List] leaves out
// what is no tool.
package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"rlmproxy/jsonscan"
)

// The bounds of a tool, in bytes but for MaxTools, MaxPackages and maxDepth.
const (
	MaxTools       = 100
	MaxProgram     = 64 << 10
	MaxSchema      = 16 << 10
	MaxDescription = 2000
	MaxPackages    = 20
	maxPackage     = 200
	maxDepth       = 30                                  // of a schema
	maxTool        = MaxProgram*6 + 2*MaxSchema + 64<<10 // as JSON, where a byte may take six
)

// A Tool is a tool that an agent has made.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`     // an object
	Language    string          `json:"language"`         // [JavaScript] or [JQ]
	Engine      string          `json:"engine,omitempty"` // "" or [Container]
	Program     string          `json:"program"`
	Call        *Call           `json:"call,omitempty"`     // of a tool in jq; nil: it calls none
	Packages    []string        `json:"packages,omitempty"` // of npm, for [Container]
	Enabled     bool            `json:"enabled"`

	// What the store and its users note: they are not the maker's to say.
	Revision int64     `json:"revision"` // from 1
	Changed  time.Time `json:"changed"`
	By       string    `json:"by"` // the agent that changed it last
}

// The languages of programs, and the engine that is not the usual one.
const (
	JavaScript = "javascript"
	JQ         = "jq"
	Container  = "container"
)

// A Call is what a tool in jq calls first: its program gets the result.
type Call struct {
	Tool string `json:"tool"`
	// Arguments is a jq program that makes them of the arguments of the made tool. Empty: they
	// are the same.
	Arguments string `json:"arguments,omitempty"`
}

// A Store keeps tools. It is safe for concurrent use.
type Store interface {
	// List returns all tools by name. Without any, the error is why they cannot be read; with
	// some, what was left out.
	List(ctx context.Context) ([]Tool, error)
	// Put keeps a tool in place of its revision, 0 if it is to be new, and returns it with its
	// own. Errors are [ErrExists], [ErrUnknown], [ErrFull], a [StaleError], or an [AwayError].
	Put(ctx context.Context, t Tool, revision int64) (Tool, error)
	// Delete removes a revision of a tool, with the errors of Put.
	Delete(ctx context.Context, name string, revision int64) error
	// Follow calls changed at once and after each change of anybody, until ctx ends. What
	// happens in a moment may be one change.
	Follow(ctx context.Context, changed func())
	// Close ends it, once every Follow has ended.
	Close()
}

// Why a change is refused. Nothing has changed then.
var (
	ErrExists  = errors.New("there is a tool of this name")
	ErrUnknown = errors.New("there is no tool of this name")
	ErrFull    = fmt.Errorf("there are %d tools, which is the most that are allowed", MaxTools)
)

// A StaleError refuses a change of a revision that is not the last one.
type StaleError struct{ Meant, Last int64 }

func (e *StaleError) Error() string {
	return fmt.Sprintf("revision %d is not the last one, which is %d", e.Meant, e.Last)
}

// An AwayError says that a store cannot be reached, or refuses us. Its text is for operators.
type AwayError struct {
	Store string // without secrets
	Err   error
}

func (e *AwayError) Error() string { return e.Store + ": " + e.Err.Error() }
func (e *AwayError) Unwrap() error { return e.Err }

var (
	namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	// packagePattern has names with exact versions and nothing else that npm takes: neither
	// paths, URLs nor flags.
	packagePattern = regexp.MustCompile(`^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*@[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)
)

// Check says what is wrong with what a maker says of a tool, by the names of proxy_tools. It does
// not compile the program.
func (t *Tool) Check() error {
	switch {
	case !namePattern.MatchString(t.Name):
		return errors.New("name must be 1 to 64 of the characters a-z, A-Z, 0-9, _ and -")
	case strings.HasPrefix(strings.ToLower(t.Name), "proxy_"):
		return errors.New("names that begin with proxy_ are the proxy's own")
	case strings.TrimSpace(t.Description) == "":
		return errors.New("description is missing: agents choose tools by it")
	case len(t.Description) > MaxDescription:
		return fmt.Errorf("description has %d bytes; %d are allowed", len(t.Description), MaxDescription)
	case !utf8.ValidString(t.Description) || !utf8.ValidString(t.Program):
		return errors.New("description and program must be UTF-8")
	case strings.ContainsRune(t.Description+t.Program, 0):
		return errors.New("description and program must not have the character U+0000")
	case len(t.InputSchema) > MaxSchema:
		return fmt.Errorf("input_schema has %d bytes; %d are allowed", len(t.InputSchema), MaxSchema)
	case !jsonscan.Valid(t.InputSchema, maxDepth):
		return fmt.Errorf("input_schema must be JSON of at most %d levels", maxDepth)
	case jsonscan.Kind(t.InputSchema) != '{' || jsonscan.StringMember(t.InputSchema, "type") != "object":
		return errors.New(`input_schema must be an object with "type":"object"`)
	case t.Language != JavaScript && t.Language != JQ:
		return fmt.Errorf("language must be %s or %s", JavaScript, JQ)
	case t.Engine != "" && t.Engine != Container:
		return fmt.Errorf("engine must be %s, or left out", Container)
	case t.Engine == Container && t.Language != JavaScript:
		return fmt.Errorf("engine %s runs programs in %s", Container, JavaScript)
	case strings.TrimSpace(t.Program) == "":
		return errors.New("program is missing")
	case len(t.Program) > MaxProgram:
		return fmt.Errorf("program has %d bytes; %d are allowed", len(t.Program), MaxProgram)
	case t.Call != nil && t.Language != JQ:
		return fmt.Errorf("call is for tools in %s; in %s, write call(tool, arguments)", JQ, JavaScript)
	case t.Call != nil && (t.Call.Tool == "" || len(t.Call.Tool) > 200):
		return errors.New("call.tool must be the name of a tool")
	case t.Call != nil && len(t.Call.Arguments) > MaxProgram/4:
		return fmt.Errorf("call.arguments has %d bytes; %d are allowed", len(t.Call.Arguments), MaxProgram/4)
	case len(t.Packages) > 0 && t.Engine != Container:
		return fmt.Errorf("packages are for engine %s", Container)
	case len(t.Packages) > MaxPackages:
		return fmt.Errorf("%d packages; %d are allowed", len(t.Packages), MaxPackages)
	}
	for _, p := range t.Packages {
		if len(p) > maxPackage || !packagePattern.MatchString(p) {
			return fmt.Errorf(`package %.60q must be a name of npm with its exact version, as in "lodash@4.17.21"`, p)
		}
	}
	return nil
}

// read makes a tool of what a store has under a name.
func read(name string, data []byte) (t Tool, err error) {
	if len(data) > maxTool {
		return t, fmt.Errorf("tool %.80q: larger than %d bytes", name, maxTool)
	}
	if err = json.Unmarshal(data, &t); err == nil {
		err = t.Check()
	}
	switch {
	case err != nil:
	case t.Name != name:
		err = errors.New("it has another name inside")
	case t.Revision < 1:
		err = errors.New("it has no revision")
	}
	if err != nil {
		err = fmt.Errorf("tool %.80q: %w", name, err)
	}
	if len(t.By) > maxBy {
		t.By = t.By[:maxBy]
	}
	return t, err
}

// maxBy bounds the name of an agent, in bytes.
const maxBy = 200

// maxLeftOut bounds how many tools an error names that were left out.
const maxLeftOut = 5

// listed sorts tools, and leaves out what is over MaxTools.
func listed(tools []Tool, bad []error) ([]Tool, error) {
	slices.SortFunc(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	if len(tools) > MaxTools {
		bad = append(bad, fmt.Errorf("%d tools more than %d", len(tools)-MaxTools, MaxTools))
		tools = tools[:MaxTools]
	}
	if more := len(bad) - maxLeftOut; more > 0 {
		bad = append(bad[:maxLeftOut], fmt.Errorf("%d more", more))
	}
	if tools == nil {
		tools = []Tool{}
	}
	return tools, errors.Join(bad...)
}

// permits is the error for a change that means revision meant, if last is the one there is, 0
// for none, and tools are how many there are.
func permits(meant, last int64, tools int) error {
	switch {
	case meant == 0 && last != 0:
		return ErrExists
	case meant == 0 && tools >= MaxTools:
		return ErrFull
	case meant != 0 && last == 0:
		return ErrUnknown
	case meant != last:
		return &StaleError{meant, last}
	}
	return nil
}
