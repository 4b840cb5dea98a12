package script

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dop251/goja"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/show"
)

// hosted are the functions that the host does; what it answers is their value.
var hosted = []string{"result", "search", "call", "callAll", "ask"}

// functions gives the program its functions.
func (r *run) functions() error {
	all := map[string]func(goja.FunctionCall) goja.Value{"lines": r.lines, "jq": r.jq, "print": r.print}
	for _, name := range hosted {
		all[name] = func(c goja.FunctionCall) goja.Value { return r.got(r.host(name, c.Arguments)) }
	}
	for name, f := range all {
		if err := r.vm.Set(name, f); err != nil {
			return err
		}
	}
	console := r.vm.NewObject()
	for _, name := range []string{"log", "info", "warn", "error", "debug"} {
		if err := console.Set(name, r.print); err != nil {
			return err
		}
	}
	return r.vm.Set("console", console)
}

// host has the host do a function, and returns the value as JSON, nil for undefined. It throws
// what the host says of an error.
func (r *run) host(name string, args []goja.Value) json.RawMessage {
	q := question{Function: name, Arguments: []json.RawMessage{}}
	size := 0
	for _, arg := range args {
		raw := json.RawMessage("null")
		if text := r.must(r.text(arg)); !goja.IsUndefined(text) {
			raw = json.RawMessage(text.String())
		}
		size += len(raw)
		q.Arguments = append(q.Arguments, raw)
	}
	if size > maxArgumentBytes {
		r.throw("bad_arguments", fmt.Sprintf("%s: arguments of %s bytes; %s are allowed", name, show.Count(size), show.Count(maxArgumentBytes)))
	}
	if !r.may(q) {
		return nil
	}
	data, err := json.Marshal(q)
	if err != nil {
		r.throw("bad_arguments", name+": "+err.Error())
	}
	var back reply
	if err := json.Unmarshal(r.work.Ask(data), &back); err != nil {
		r.throw("internal", name+": "+err.Error())
	}
	if back.Error != "" {
		r.throw(back.Code, back.Error)
	}
	return back.Value
}

// may counts what is asked of the host, and ends the program for too much.
func (r *run) may(q question) bool {
	r.asked++
	switch q.Function {
	case "call":
		r.calls++
	case "callAll":
		var all []json.RawMessage
		if len(q.Arguments) > 0 && json.Unmarshal(q.Arguments[0], &all) == nil {
			r.calls += len(all)
		}
	}
	switch {
	case r.calls > maxCalls:
		r.end(&Error{Code: doc.BadProgram, Text: fmt.Sprintf("a program may call tools %s times", show.Count(maxCalls)), Hint: "those before are made; do the rest in another program"})
	case r.asked > maxAsked:
		r.end(&Error{Code: doc.BadProgram, Text: fmt.Sprintf("a program may call functions of the host %s times", show.Count(maxAsked)), Hint: "read a result once, and keep it in a variable"})
	default:
		return true
	}
	return false
}

// throw throws an error that the program may catch.
func (r *run) throw(code, text string) {
	e, err := r.vm.New(r.newError, r.vm.ToValue(text))
	if err == nil && code != "" {
		err = e.Set("code", code)
	}
	if err != nil {
		panic(r.vm.NewGoError(err))
	}
	panic(e)
}

// must throws err, if there is one.
func (r *run) must(v goja.Value, err error) goja.Value {
	if err != nil {
		panic(err) // an exception, or what ends the program
	}
	return v
}

// got is JSON as the program has it, undefined for nil.
func (r *run) got(raw json.RawMessage) goja.Value {
	if raw == nil {
		return goja.Undefined()
	}
	return r.must(r.value(raw))
}

// lines(id) are the lines of a result's text.
func (r *run) lines(c goja.FunctionCall) goja.Value {
	var text string
	if raw := r.host("lines", c.Arguments); json.Unmarshal(raw, &text) != nil {
		return goja.Undefined()
	}
	var all []any
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		all = append(all, strings.TrimSuffix(line, "\r"))
	}
	return r.vm.NewArray(all...)
}

// jq(value, program) is what the program puts out, an array.
func (r *run) jq(c goja.FunctionCall) goja.Value {
	program, ok := c.Argument(1).(goja.String)
	if !ok {
		r.throw(doc.BadArguments, "jq(value, program): program must be a string")
	}
	in := r.must(r.text(c.Argument(0)))
	if goja.IsUndefined(in) {
		in = r.vm.ToValue("null")
	}
	out, err := jq.Eval(r.ctx, jq.JSON, []byte(in.String()), program.String())
	switch {
	case r.ctx.Err() != nil:
		return goja.Undefined() // the program ends here
	case err != nil:
		r.throw(doc.BadJQ, err.Error())
	}
	list := append([]byte{'['}, strings.ReplaceAll(strings.TrimSuffix(string(out.Data), "\n"), "\n", ",")...)
	return r.got(append(list, ']'))
}

// print(...) keeps a line for whoever reads the answer.
func (r *run) print(c goja.FunctionCall) goja.Value {
	var line []byte
	for i, arg := range c.Arguments {
		if i > 0 {
			line = append(line, ' ')
		}
		if _, text := arg.(goja.String); !text {
			if v := r.must(r.text(arg)); !goja.IsUndefined(v) {
				arg = v
			}
		}
		line = append(line, arg.String()...)
	}
	line = append(line, '\n')
	if r.unprinted > 0 || r.printed+len(line) > maxPrintedBytes {
		r.unprinted++
		return goja.Undefined()
	}
	r.printed += len(line)
	r.work.Tell(line)
	return goja.Undefined()
}
