package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/tidwall/gjson"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/frame"
	"rlmproxy/pipeline/show"
)

// Bounds on what one server may offer: all of it may stand in an agent's context, where
// a mebibyte is a quarter of a million tokens.
const (
	maxTools      = 2000
	maxPages      = 1000
	maxThingBytes = 128 << 10 // of one definition
	maxListBytes  = 4 << 20   // of all
)

// LeftOut is what a server offers beyond the bounds, or against the protocol.
type LeftOut struct {
	N     int
	Names []string // the first of them, clipped
	Why   string   // the reason for the first
}

// maxLeftOut is how many names are kept of what is left out.
const maxLeftOut = 20

func (l *LeftOut) add(name string, why error) {
	if l.N++; l.N == 1 {
		l.Why = show.ClipBytes(why.Error(), 200)
	}
	if len(l.Names) < maxLeftOut {
		l.Names = append(l.Names, show.ClipBytes(name, 80))
	}
}

// A listing is a list of things with names, read page by page.
type listing struct {
	logger *slog.Logger
	what   string // the things: the member of a page that holds them
	method string // that asks for a page
	// check returns a thing's name, and an error if the list must leave it out.
	check func(thing json.RawMessage) (name string, err error)

	things []Tool
	names  map[string]bool
	bytes  int // of things
	left   LeftOut
}

// list reads a list of things with names, page by page: what is "tools" under
// tools/list. What check refuses is left out and logged, as is what goes beyond
// the bounds, and a server that does not know the method has none.
func (u *Upstream) list(ctx context.Context, s *session, what string, check func(json.RawMessage) (string, error)) ([]Tool, LeftOut, error) {
	list := &listing{logger: u.logger, what: what, method: what + "/list", check: check, names: map[string]bool{}}
	things, err := list.read(ctx, s)
	if list.left.N > 0 {
		u.leftOut.Do(func() {
			u.logger.Warn(list.method+": some are left out", "number", list.left.N, "names", list.left.Names, "error", list.left.Why)
		})
	}
	return things, list.left, err
}

func (list *listing) read(ctx context.Context, s *session) ([]Tool, error) {
	cursor := ""
	for range maxPages {
		next, err := list.page(ctx, s, cursor)
		switch {
		case methodNotFound(err):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", list.method, err)
		case next == "":
			return list.things, nil
		case next == cursor:
			list.logger.Warn(list.method + ": nextCursor is the same as on the page before, so the list ends here")
			return list.things, nil
		}
		cursor = next
	}
	list.logger.Warn(fmt.Sprintf("%s: more than %d pages", list.method, maxPages))
	return list.things, nil
}

// page reads the page at cursor, the first one at "", and returns the cursor of the
// next, "" behind the last.
func (list *listing) page(ctx context.Context, s *session, cursor string) (next string, err error) {
	params := json.RawMessage("{}")
	if cursor != "" {
		quoted, err := json.Marshal(cursor)
		if err != nil {
			return "", err
		}
		params = jsonscan.Object("cursor", quoted)
	}
	if params, err = withMeta(params, s.meta); err != nil {
		return "", err
	}
	result, err := s.Call(ctx, list.method, params, nil)
	if err != nil {
		return "", err
	}
	err = jsonscan.Members(result, func(key string, value json.RawMessage) error {
		switch {
		case key == "nextCursor":
			if json.Unmarshal(value, &next) != nil {
				list.logger.Warn(list.method + ": nextCursor is not a string")
			}
		case key == list.what && value[0] == '[':
			return jsonscan.Elements(value, list.add)
		case key == list.what:
			list.logger.Warn(list.method + ": " + list.what + " is not an array")
		}
		return nil
	})
	return next, err
}

// add adds a thing, or leaves it out. It returns no error, which would end the page.
func (list *listing) add(thing json.RawMessage) error {
	thing = frame.Strip(thing)
	name, err := list.check(thing)
	switch {
	case err != nil:
	case list.names[name]:
		err = errors.New("another one has the same name")
	case len(list.things) == maxTools:
		err = fmt.Errorf("more than %d", maxTools)
	case len(thing) > maxThingBytes:
		err = fmt.Errorf("a definition of more than %d bytes", maxThingBytes)
	case list.bytes+len(thing) > maxListBytes:
		err = fmt.Errorf("more than %d bytes of definitions", maxListBytes)
	}
	if err != nil {
		list.left.add(name, err)
		return nil
	}
	list.names[name] = true
	list.bytes += len(thing)
	list.things = append(list.things, Tool{name, slices.Clone(thing)}) // the rest of the page is not kept
	return nil
}

// checkPrompt returns a prompt's name.
func checkPrompt(raw json.RawMessage) (name string, err error) {
	t := gjson.GetBytes(raw, "name")
	if t.Type != gjson.String || t.Str == "" {
		err = errors.New("no name")
	}
	return t.String(), err
}

// checkTool returns a definition's name, and an error for what the schema of the
// MCP specification does not allow and strict clients refuse. raw is valid JSON
// no deeper than [jsonscan.MaxDepth].
func checkTool(raw json.RawMessage) (name string, err error) {
	t := gjson.GetManyBytes(raw, "name", "inputSchema.type", "title", "description", "annotations")
	name = t[0].String()
	switch {
	case t[0].Type != gjson.String || name == "":
		err = errors.New("no name")
	case t[1].String() != "object":
		err = errors.New(`inputSchema does not have "type":"object"`)
	case t[2].Exists() && t[2].Type != gjson.String, t[3].Exists() && t[3].Type != gjson.String:
		err = errors.New("title or description is not a string")
	case t[4].Exists() && !t[4].IsObject():
		err = errors.New("annotations is not an object")
	}
	return name, err
}

// methodNotFound reports whether the server does not have the method: one without
// tools need not know tools/list.
func methodNotFound(err error) bool {
	var e *jsonrpc.Error
	return errors.As(err, &e) && e.Code == jsonrpc.CodeMethodNotFound
}
