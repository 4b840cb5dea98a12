// Package toolbox offers the tools that agents make at run time, as a server offers its own.
//
//	registry.Store ─► Box: the list of a server ─► names, lists, rights, calls, as of any server
//	proxy_tools ─► Box.Put: checked, compiled ─► registry.Store ─► every process that has it open
//
// How a tool runs is not known here.
package toolbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/upstream"
	"rlmproxy/registry"
)

// Name is what the made tools have in the place of a server's name.
const Name = "proxy_tools"

// Options configures a [Box].
type Options struct {
	Store registry.Store // required; it stays the caller's to close, after the box
	// Compile is what is wrong with the program of a tool in JavaScript, for its maker, or nil.
	Compile func(ctx context.Context, t registry.Tool) error
	// NoContainer says why there is no engine for containers. Empty: there is one.
	NoContainer string
	// Logger receives what operators need to know. Nil discards it.
	Logger *slog.Logger
}

// A Box has the tools of a store as they were last read: while that is away, they go on. It has
// the methods of a connected server, but nothing is sent to it.
type Box struct {
	opts Options

	reading sync.Mutex // held by reload

	mu     sync.Mutex // guards the fields below
	all    []registry.Tool
	listed []upstream.Tool // those that are enabled
	why    error           // why they could not be read the last time, or what was left out
	loaded chan struct{}   // closed when they have been read, or could not be
}

// New returns a box, which is empty until [Box.Follow] has read the store.
func New(opts Options) *Box {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Box{opts: opts, why: errNotRead, loaded: make(chan struct{})}
}

// errNotRead is why there are no tools at first.
var errNotRead = errors.New("they have not been read yet")

// Follow reads the store, and reads it again after each change, until ctx ends. Changed is called
// when what is listed has changed.
func (b *Box) Follow(ctx context.Context, changed func()) {
	b.opts.Store.Follow(ctx, func() { b.reload(ctx, changed) })
}

// reload reads the store.
func (b *Box) reload(ctx context.Context, changed func()) {
	b.reading.Lock()
	defer b.reading.Unlock()
	all, err := b.opts.Store.List(ctx)
	if ctx.Err() != nil {
		return
	}
	b.mu.Lock()
	if err != nil && (b.why == nil || b.why.Error() != err.Error()) { // once each
		b.opts.Logger.Warn("not all tools that agents made can be read", "error", err)
	}
	b.why = err
	news := false
	if all != nil {
		listed := definitions(all)
		news = !slices.EqualFunc(listed, b.listed, func(x, y upstream.Tool) bool { return x.Name == y.Name && bytes.Equal(x.Raw, y.Raw) })
		b.all = all
		if news {
			b.listed = listed
		}
	}
	select {
	case <-b.loaded:
	default:
		close(b.loaded)
	}
	b.mu.Unlock()
	if news {
		changed()
	}
}

// definitions are those of the enabled tools, as a server lists them.
func definitions(all []registry.Tool) (list []upstream.Tool) {
	for _, t := range all {
		if !t.Enabled {
			continue
		}
		raw := jsonscan.Object("name", jsonscan.Quote(t.Name))
		raw = jsonscan.With(raw, "description", jsonscan.Quote(t.Description))
		raw = jsonscan.With(raw, "inputSchema", t.InputSchema)
		list = append(list, upstream.Tool{Name: t.Name, Raw: raw})
	}
	return list
}

// Tool returns the enabled tool of a name.
func (b *Box) Tool(name string) (registry.Tool, bool) {
	t, ok := b.find(name)
	return t, ok && t.Enabled
}

func (b *Box) find(name string) (registry.Tool, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.all {
		if t.Name == name {
			return t, true
		}
	}
	return registry.Tool{}, false
}

// Tools is the list of those that are enabled.
func (b *Box) Tools() []upstream.Tool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.listed
}

// Prompts are none.
func (b *Box) Prompts() []upstream.Tool { return nil }

// info says that a box has tools.
var info = &upstream.Info{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}}

// Info is the same at any time.
func (b *Box) Info() *upstream.Info { return info }

// errNoServer is why nothing is sent to a box.
var errNoServer = errors.New("tools made at run time are no server")

// Call refuses: it is not called.
func (b *Box) Call(context.Context, upstream.Request) (json.RawMessage, error) {
	return nil, errNoServer
}

// Notify does nothing.
func (b *Box) Notify(context.Context, string, json.RawMessage) error { return nil }

// State is that the box is ready, or has not read its store yet.
func (b *Box) State() (upstream.State, error) {
	select {
	case <-b.loaded:
		return upstream.Ready, nil
	default:
		return upstream.Connecting, nil
	}
}

// Settled waits until the store has been read, or cannot be.
func (b *Box) Settled(ctx context.Context) {
	select {
	case <-b.loaded:
	case <-ctx.Done():
	}
}
