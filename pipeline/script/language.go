package script

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/worker"
)

// Worker is the life of a worker process of a [Pool], see [worker.Serve].
func Worker(r io.Reader, w io.Writer) int {
	return worker.Serve(r, w, func(int64) worker.Language { return new(language) })
}

// A language runs programs, each in an interpreter of its own. It keeps nothing.
type language struct {
	mu      sync.Mutex // guards the field below
	running *run       // nil: none
}

var _ worker.Language = (*language)(nil)

// Holds implements [worker.Language].
func (l *language) Holds() []worker.Key { return nil }

// Forget implements [worker.Language].
func (l *language) Forget(string) {}

// Relieve implements [worker.Language]: the program ends where it is, unless a built-in function
// takes the rest of the memory first.
func (l *language) Relieve() {
	l.end(&Error{Code: doc.LimitMemory, Text: "the program takes too much memory", Hint: memoryHint})
}

// Late implements [worker.Language]: the program ends where it is, unless a built-in function
// goes on.
func (l *language) Late() {
	l.end(&Error{Code: doc.LimitTime, Hint: lateHint})
}

func (l *language) end(why *Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == nil {
		return
	}
	if why.Text == "" {
		why.Text = lateText(l.running.Limit)
	}
	l.running.end(why)
}

const (
	lateHint   = "compute less: select first with jq or search, and use a Map or Set where a loop looks for something in an array"
	memoryHint = "select first with jq or search, and keep only what is needed"
)

// lateText is that a program computed for too long.
func lateText(limit time.Duration) string {
	return fmt.Sprintf("the program computed for longer than %v", limit)
}

// Do implements [worker.Language].
func (l *language) Do(w *worker.Work) (a worker.Answer, failure *doc.Error) {
	var t task
	if err := json.Unmarshal(w.Data, &t); err != nil {
		return a, invalid("the program cannot be read: %v", err)
	}
	if t.Limit > 0 {
		// A match of a regular expression that explodes gives up no earlier than the program is
		// late, which the interpreter sees then.
		regexp2.DefaultMatchTimeout = t.Limit
	}
	r := newRun(t, w)
	l.mu.Lock()
	l.running = r
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.running = nil
		l.mu.Unlock()
		r.cancel()
		if v := recover(); v != nil {
			fmt.Fprintf(os.Stderr, "script-worker: panic: %s\n%s\n", show.ClipBytes(fmt.Sprint(v), 300), show.ClipBytes(string(debug.Stack()), 3000))
			failure = invalid("%s: the program crashed the interpreter", t.Name)
			failure.Hint = "write it differently"
		}
	}()
	e, failure := r.do()
	if failure != nil || t.Check {
		return worker.Answer{Data: []byte("{}")}, failure
	}
	data, err := json.Marshal(e)
	if err != nil {
		return a, invalid("%s: %v", t.Name, err)
	}
	return worker.Answer{Data: data}, nil
}

// A run is one run of a program.
type run struct {
	task
	work   *worker.Work
	vm     *goja.Runtime
	ctx    context.Context // of what it has done by others than the interpreter
	cancel context.CancelFunc

	parse, stringify goja.Callable // those of JSON, whatever the program makes of it
	newError         goja.Value

	lost []*goja.Promise // rejected, and nobody looks at them

	asked, calls int
	printed      int // bytes
	unprinted    int // lines that were too many
}

// maxLost bounds the rejected promises that a run remembers.
const maxLost = 100

// maxCallDepth bounds how deeply calls nest. A thousand frames take a MiB at most.
const maxCallDepth = 10_000

func newRun(t task, w *worker.Work) *run {
	r := &run{task: t, work: w, vm: goja.New()}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.vm.SetMaxCallStackSize(maxCallDepth)
	r.vm.SetPromiseRejectionTracker(func(p *goja.Promise, operation goja.PromiseRejectionOperation) {
		switch at := slices.Index(r.lost, p); {
		case operation == goja.PromiseRejectionReject && len(r.lost) < maxLost:
			r.lost = append(r.lost, p)
		case operation == goja.PromiseRejectionHandle && at >= 0:
			r.lost = slices.Delete(r.lost, at, at+1)
		}
	})
	return r
}

// end ends the program where it is.
func (r *run) end(why *Error) {
	r.vm.Interrupt(why)
	r.cancel()
}

//go:embed prelude.js
var prelude string

var preludeProgram = goja.MustCompile("prelude", prelude, true)

// do runs the program.
func (r *run) do() (ending, *Error) {
	code, failure := r.compile()
	if failure != nil || r.Check {
		return ending{}, failure
	}
	var before, value goja.Value
	err := r.prepare()
	if err == nil {
		before, err = r.text(r.vm.Get("state"))
	}
	if err == nil {
		value, err = r.returned(code)
	}
	if err == nil {
		value, err = r.text(value)
	}
	if r.unprinted > 0 {
		r.work.Tell(fmt.Appendf(nil, "[%s more lines were printed]\n", show.Count(r.unprinted)))
	}
	if err != nil {
		return ending{}, r.explain(err)
	}
	var e ending
	if !goja.IsUndefined(value) {
		if e.Value = json.RawMessage(value.String()); len(e.Value) > maxValueBytes {
			return ending{}, &Error{Code: doc.LimitMemory, Text: fmt.Sprintf("%s: it returned %s bytes; %s are allowed", r.Name, show.Count(len(e.Value)), show.Count(maxValueBytes)), Hint: "return less"}
		}
	}
	after, err := r.text(r.vm.Get("state"))
	switch {
	case err != nil:
		return ending{}, r.explain(err)
	case goja.IsUndefined(after) || after.String()[0] != '{':
		return ending{}, invalid("%s: state must be an object, which it is not any more", r.Name)
	case len(after.String()) > maxStateBytes:
		return ending{}, invalid("%s: state has %s bytes; %s are allowed. It stays as it was", r.Name, show.Count(len(after.String())), show.Count(maxStateBytes))
	case !after.SameAs(before):
		e.State = json.RawMessage(after.String())
	}
	return e, nil
}

// returned runs the program and is what it returns, undefined for nothing. Of a promise it is
// the value.
func (r *run) returned(code *goja.Program) (goja.Value, error) {
	made, err := r.vm.RunProgram(code)
	if err != nil {
		return nil, err
	}
	call, _ := goja.AssertFunction(made)
	args, err := r.value(orObject(r.Arguments))
	if err != nil {
		return nil, err
	}
	value, err := call(goja.Undefined(), args)
	if err != nil {
		return nil, err
	}
	object, ok := value.(*goja.Object)
	if !ok || object.ExportType() != promiseType { // to export others runs their code
		return value, r.unseen()
	}
	p, ok := object.Export().(*goja.Promise)
	if !ok {
		return value, nil
	}
	switch p.State() {
	case goja.PromiseStateFulfilled:
		return p.Result(), r.unseen()
	case goja.PromiseStateRejected:
		return nil, &rejected{p.Result()}
	}
	return nil, errors.New("it waits for a promise that nothing fulfils; functions of the host need no await")
}

// unseen is what a function threw whose promise the program did not look at, as main() does for
// which it did not wait.
func (r *run) unseen() error {
	if len(r.lost) == 0 {
		return nil
	}
	return &rejected{r.lost[0].Result()}
}

var promiseType = reflect.TypeFor[*goja.Promise]()

// prepare makes the world of the program.
func (r *run) prepare() error {
	// The same program over the same data must give the same answer.
	r.vm.SetTimeSource(func() time.Time {
		panic(r.vm.NewTypeError("there is no clock: give the time as a literal, new Date(\"2025-06-01\") say"))
	})
	r.vm.SetRandSource(func() float64 { panic(r.vm.NewTypeError("there is no randomness")) })
	json := r.vm.Get("JSON").ToObject(r.vm)
	r.parse, _ = goja.AssertFunction(json.Get("parse"))
	r.stringify, _ = goja.AssertFunction(json.Get("stringify"))
	r.newError = r.vm.Get("Error")
	if _, err := r.vm.RunProgram(preludeProgram); err != nil {
		return err
	}
	if err := r.functions(); err != nil {
		return err
	}
	state, err := r.value(orObject(r.State))
	if err != nil {
		return err
	}
	return r.vm.Set("state", state)
}

func orObject(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	return raw
}

// value is JSON as the program has it.
func (r *run) value(raw json.RawMessage) (goja.Value, error) {
	return r.parse(goja.Undefined(), r.vm.ToValue(string(exact(raw))))
}

// text is a value as JSON, undefined for what has none.
func (r *run) text(v goja.Value) (goja.Value, error) {
	if v == nil {
		return goja.Undefined(), nil
	}
	return r.stringify(goja.Undefined(), v)
}
