package container

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/dustin/go-humanize"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/script"
	"rlmproxy/pipeline/show"
)

//go:embed runner.cjs
var runner string

// Functions of the host that programs have, each returning a promise.
var functions = []string{"call", "callAll", "result", "lines", "search", "ask"}

// Bounds of what a program sends.
const (
	maxMessageBytes = 16 << 20
	maxPrintedBytes = 64 << 10
	maxCalls        = 1000   // of tools
	maxAsked        = 10_000 // calls of all functions
	maxAtOnce       = 8      // calls
)

// What goes over the wire, a line each. Of a message, one of Begun, Call, Print, Done and Error is set.
type (
	opening struct {
		Source    string          `json:"source"`
		Args      json.RawMessage `json:"args"`
		State     json.RawMessage `json:"state"`
		Functions []string        `json:"functions"`
		MaxBytes  int             `json:"maxBytes"`
		AtOnce    int             `json:"callsAtOnce"`
		Check     bool            `json:"check,omitempty"`
	}
	answer struct {
		ID    int64           `json:"id"`
		Value json.RawMessage `json:"value,omitempty"`
		Error *string         `json:"error,omitempty"`
	}
	message struct {
		Begun     bool              `json:"begun"`
		Call      int64             `json:"call"`
		Function  string            `json:"function"`
		Arguments []json.RawMessage `json:"arguments"`
		Print     *string           `json:"print"`
		Done      bool              `json:"done"`
		Value     json.RawMessage   `json:"value"`
		State     json.RawMessage   `json:"state"`
		Error     *failure          `json:"error"`
	}
	failure struct {
		Text         string `json:"text"`
		Line, Column int
	}
)

// Run runs p in a container of its own, which takes half a second. Its errors, beside those that
// [script.Runner] names, have code [Unavailable] where there is nothing to run it with.
func (e *Engine) Run(ctx context.Context, p script.Program, h script.Host) (script.Outcome, error) {
	return e.run(ctx, p, h, false)
}

// Check says what would keep p from running: no podman or docker, a package that cannot be
// installed, or source that does not parse. It runs nothing of it.
func (e *Engine) Check(ctx context.Context, p script.Program) error {
	_, err := e.run(ctx, p, nil, true)
	return err
}

func (e *Engine) run(ctx context.Context, p script.Program, h script.Host, check bool) (out script.Outcome, err error) {
	ctx, end, err := e.begin(ctx)
	if err != nil {
		return out, err
	}
	defer end()
	first, err := json.Marshal(opening{Source: p.Source, Args: orEmpty(p.Arguments), State: orEmpty(p.State),
		Functions: functions, MaxBytes: maxMessageBytes, AtOnce: maxAtOnce, Check: check})
	if err != nil {
		return out, fmt.Errorf("program %q: %w", p.Name, err)
	}
	engine, err := e.prepared(ctx)
	if err != nil {
		return out, err
	}
	leave, err := e.turns.take(ctx, p.Agent)
	if err != nil {
		return out, err
	}
	defer leave()
	folder, err := e.packages(ctx, engine, p.Packages)
	if err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, e.opts.Timeout)
	defer cancel()
	name := newName()
	b, err := start(engine, name, e.arguments(engine, name, folder))
	if err != nil {
		return out, unavailable(fmt.Sprintf("%s cannot be started: %v", engine.name, err), err)
	}
	defer b.close()
	defer b.endWith(ctx)()

	s := &session{host: h, in: b.in, turns: make(chan struct{}, maxAtOnce)}
	last, err := s.converse(ctx, b.out, first)
	out.Printed = s.printed.bytes()
	switch {
	case ctx.Err() != nil:
		return out, limited(ctx, "the time limit passed before the program was done")
	case err != nil:
		return out, err
	case last == nil:
		return out, e.ended(ctx, p, b, s.begun)
	case last.Error != nil:
		return out, last.Error.of(p)
	}
	out.Value, out.State = last.Value, last.State
	return out, nil
}

func orEmpty(object json.RawMessage) json.RawMessage {
	if object == nil {
		return json.RawMessage("{}")
	}
	return object
}

// arguments are those of the command that runs a program. The first argument of sh is the CPU time,
// which the kernel counts; waiting is free.
func (e *Engine) arguments(p *program, name, folder string) []string {
	args := append(closed(p, name, e.opts.Memory, "1", maxProcesses, maxTempBytes), "--network", "none")
	args = append(args, withoutProxies()...)
	if folder != "" {
		args = append(args, "--volume", folder+":/packages:ro,z", "--workdir", "/packages")
	} else {
		args = append(args, "--workdir", "/tmp")
	}
	if p.name == "podman" { // which then ends it, should we be gone
		args = append(args, "--timeout", strconv.Itoa(int(e.opts.Timeout.Seconds())+60))
	}
	seconds := max(int(e.opts.Compute.Seconds()), 1)
	return append(args, e.opts.Image, "-c", `ulimit -t "$1" && ulimit -c 0 && shift && exec node "$@"`, "sh", strconv.Itoa(seconds),
		"--no-warnings", fmt.Sprintf("--max-old-space-size=%d", e.opts.Memory*3/4>>20), "--eval", runner)
}

// A session is what a host and a program say to each other.
type session struct {
	host    script.Host
	turns   chan struct{} // of calls under way
	begun   bool          // the program's runner is there
	calls   int           // of tools, so far
	asked   int           // calls of functions, so far
	printed printed

	mu sync.Mutex // guards writing to in
	in io.WriteCloser
}

// converse serves the program until it has sent its last message, which is nil where it has not:
// the container ended before.
func (s *session) converse(ctx context.Context, out io.Reader, first []byte) (*message, error) {
	ctx, cancel := context.WithCancel(ctx)
	var calls sync.WaitGroup
	defer func() {
		cancel()
		s.in.Close() // which ends waiting for a program that does not read
		calls.Wait()
	}()
	calls.Go(func() { s.send(first) })
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxMessageBytes+1)
	for lines.Scan() {
		m, ok := parse(lines.Bytes())
		switch {
		case !ok: // of a process that the program has started
			s.printed.add(lines.Text() + "\n")
		case m.Done || m.Error != nil:
			return m, nil
		case m.Print != nil:
			s.printed.add(*m.Print)
		case m.Begun:
			s.begun = true
		default:
			if err := s.may(m); err != nil {
				return nil, err
			}
			select {
			case s.turns <- struct{}{}:
			case <-ctx.Done():
				return nil, nil
			}
			calls.Go(func() {
				defer func() { <-s.turns }()
				s.answer(ctx, m)
			})
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, &script.Error{Code: doc.LimitMemory, Text: fmt.Sprintf("the program sent more than %s at once", humanize.IBytes(maxMessageBytes))}
	}
	return nil, nil
}

// may counts what is asked of the host, and ends the program for too much.
func (s *session) may(m *message) error {
	s.asked++
	switch m.Function {
	case "call":
		s.calls++
	case "callAll":
		if len(m.Arguments) > 0 {
			for range jsonscan.Items(m.Arguments[0]) {
				s.calls++
			}
		}
	}
	switch {
	case s.calls > maxCalls:
		return &script.Error{Code: doc.BadProgram, Text: fmt.Sprintf("a program may call tools %s times", show.Count(maxCalls)), Hint: "those before are made; do the rest in another call"}
	case s.asked > maxAsked:
		return &script.Error{Code: doc.BadProgram, Text: fmt.Sprintf("a program may call functions of the host %s times", show.Count(maxAsked)), Hint: "read a result once, and keep it in a variable"}
	}
	return nil
}

// parse reads a line that may be anything. Values in it are not deeper than what the proxy reads
// elsewhere.
func parse(line []byte) (*message, bool) {
	m := new(message)
	if !jsonscan.Valid(line, jsonscan.MaxDepth) || jsonscan.Kind(line) != '{' || json.Unmarshal(line, m) != nil {
		return nil, false
	}
	return m, m.Begun || m.Done || m.Error != nil || m.Print != nil || m.Function != ""
}

// answer has the host do what the program asks for.
func (s *session) answer(ctx context.Context, m *message) {
	value, err := s.host.Call(ctx, m.Function, m.Arguments)
	if ctx.Err() != nil {
		return
	}
	if err == nil && len(value) > maxMessageBytes {
		err = fmt.Errorf("%s: the result has %s; %s are allowed", m.Function, humanize.IBytes(uint64(len(value))), humanize.IBytes(maxMessageBytes))
	}
	a := answer{ID: m.Call, Value: value}
	if err != nil {
		a.Value, a.Error = nil, new(err.Error())
	}
	line, err := json.Marshal(a)
	if err != nil { // a value that is no JSON
		line, _ = json.Marshal(answer{ID: m.Call, Error: new(err.Error())})
	}
	s.send(line)
}

// send writes a line. That the container has ended is seen by who reads from it.
func (s *session) send(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.in.Write(append(line, '\n'))
}

// printed is what a program has printed, of which the first is kept.
type printed struct {
	kept []byte
	more int // bytes that are not
}

func (p *printed) add(text string) {
	n := min(len(text), maxPrintedBytes-len(p.kept))
	p.kept = append(p.kept, text[:n]...)
	p.more += len(text) - n
}

// bytes are lines of UTF-8. The last says what is missing.
func (p *printed) bytes() []byte {
	kept := []byte(strings.ToValidUTF8(string(p.kept), "�"))
	if p.more > 0 {
		kept = fmt.Appendf(kept, "\n… %s bytes more were printed, which are not kept\n", show.Count(p.more))
	}
	return kept
}
