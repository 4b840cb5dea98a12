package script

import (
	"regexp"
	"strings"
)

// A habit is what programs do that are written for another place than this one, and what to
// write here.
type habit struct {
	text *regexp.Regexp // of the error
	line *regexp.Regexp // of the source, where the error is; nil: any
	hint string
}

// habits are looked at in this order.
var habits = []habit{
	{regexp.MustCompile(`before initialization`), nil, "a variable may not have the name of a function that its own value calls"},
	{regexp.MustCompile(`^ReferenceError: (require|module|exports|process|Buffer|Deno|Bun|__dirname) is`), nil, noModules},
	{regexp.MustCompile(`^ReferenceError: (fetch|XMLHttpRequest|WebSocket|axios) is`), nil, "there is no network: call(tool, arguments) calls the tool of a server"},
	{regexp.MustCompile(`^ReferenceError: (setTimeout|setInterval|setImmediate|sleep|performance) is`), nil, "there are no timers: functions of the host return when they are done"},
	{regexp.MustCompile(`^SyntaxError: .*looking for beginning of value`), regexp.MustCompile(`JSON\.parse`), "what result and call return is parsed already, where it is JSON"},
	{regexp.MustCompile(`^SyntaxError`), regexp.MustCompile(`^\s*(import|export)\b`), noModules},
	{regexp.MustCompile(`^SyntaxError`), regexp.MustCompile(`\bfor\s+await\b`), "write for (const x of …), without await: functions of the host return when they are done"},
	{regexp.MustCompile(`^SyntaxError`), types, "the program is JavaScript: leave out the types of TypeScript"},
}

const noModules = "there are no modules, files or variables of an environment: data comes from result(id), lines(id) and call(tool, arguments)"

// types matches a line with a type of TypeScript.
var types = regexp.MustCompile(`^\s*(interface|enum|type|declare|namespace)\s+\w` + // a declaration
	`|\b(const|let|var)\s+(\w+|\{[^}]*\}|\[[^\]]*\])\s*:\s*\w` + // of a variable
	`|[(,]\s*\w+\??\s*:\s*(string|number|boolean|any|unknown|object|[A-Z]\w*)[\[\]<>\w]*\s*[,)=]` + // of a parameter
	`|\)\s*:\s*[\w<>\[\]|]+\s*(\{|=>)` + // of what a function returns
	`|\bas\s+(const|any|unknown|string|number|boolean|[A-Z]\w*)\b|\bas\s+\w+\[\]` + // an assertion
	`|\b(Map|Set|Array|Record|Promise)<\w`)

// hint is what helps against an error whose text and line of the source are given, or "".
func (r *run) hint(text, line string) string {
	if strings.HasPrefix(strings.TrimSpace(r.Source), "```") {
		return "send the program without the ``` around it"
	}
	for _, h := range habits {
		if h.text.MatchString(text) && (h.line == nil || h.line.MatchString(line)) {
			return h.hint
		}
	}
	return ""
}
