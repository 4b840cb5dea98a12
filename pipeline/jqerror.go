package pipeline

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"rlmproxy/pipeline/show"
)

// syntaxError shows the line of source where offset is, with a caret below:
//
//	jq: unexpected token "]"
//	    .items[]]
//	            ^
func syntaxError(source string, offset int, what string, cause error) *Error {
	offset = min(max(offset, 0), len(source))
	start := strings.LastIndexByte(source[:offset], '\n') + 1
	line := source[start:]
	if end := strings.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	before := []rune(strings.ToValidUTF8(source[start:offset], "�"))
	after := show.Clip(strings.ToValidUTF8(line[min(offset-start, len(line)):], "�"), 40)
	// Sixty characters to the left are enough to find the place.
	if len(before) > 60 {
		before = append([]rune("…"), before[len(before)-59:]...)
	}
	shown := strings.ReplaceAll(string(before)+after, "\t", " ")
	text := fmt.Sprintf("jq: %s\n    %s\n    %s^", show.Clip(what, 200), shown, strings.Repeat(" ", len(before)))
	return &Error{Code: BadJQ, Text: text, Hint: slipHint(source), Err: cause}
}

// A slip is a common mistake and its correction.
type slip struct {
	found *regexp.Regexp
	fix   func(string) string
	why   string
}

var slips = []slip{
	{regexp.MustCompile(`^\s*\$\.?[\w.\[\]*'"-]*\s*$`), fixJSONPath, "this is JSONPath"},
	{regexp.MustCompile(`'`), func(s string) string { return strings.ReplaceAll(strings.Trim(s, "'"), "'", `"`) }, "strings take double quotes"},
	{regexp.MustCompile(`^\s*[A-Za-z_][\w]*([.\[]|\s*$|\s*\|)`), func(s string) string { return "." + strings.TrimSpace(s) }, "fields start with a dot"},
	{regexp.MustCompile(`\[\*\]|\.\*`), func(s string) string { return strings.NewReplacer("[*]", "[]", ".*", "[]").Replace(s) }, "[] iterates"},
	{regexp.MustCompile(`\.[A-Za-z_]\w*-[\w-]*`), quoteDashed, "keys with a dash need quotes"},
	{regexp.MustCompile(`&&|\|\|`), func(s string) string { return strings.NewReplacer("&&", "and", "||", "or").Replace(s) }, "operators are words"},
	{regexp.MustCompile(`===`), func(s string) string { return strings.ReplaceAll(s, "===", "==") }, "== compares"},
}

func fixJSONPath(s string) string {
	p, err := ParsePath(strings.TrimSpace(s))
	if err != nil {
		return s
	}
	return p.JQ()
}

var dashed = regexp.MustCompile(`\.([A-Za-z_]\w*-[\w-]*)`)

func quoteDashed(s string) string { return dashed.ReplaceAllString(s, `."$1"`) }

// slipHint is the hint for a program that does not compile: a corrected one,
// if one correction makes it compile.
func slipHint(source string) string {
	if len(source) > 500 || !utf8.ValidString(source) {
		return "proxy_explore shows which fields exist"
	}
	for _, s := range slips {
		if !s.found.MatchString(source) {
			continue
		}
		if fixed := s.fix(source); fixed != source && compiles(fixed) {
			return s.why + ": " + fixed
		}
	}
	return "proxy_explore shows which fields exist; a program looks like .items[] | {name, id}"
}

// runtimeError explains a program that failed on this data.
func runtimeError(err error, tree any) *Error {
	msg := show.Clip(strings.ToValidUTF8(err.Error(), "�"), 300)
	e := &Error{Code: BadJQ, Text: "jq: " + msg, Err: err}
	_, list := tree.([]any)
	_, text := tree.(string)
	switch {
	case text && strings.Contains(msg, "but got: string"), text && strings.Contains(msg, "cannot iterate over: string"):
		e.Hint = `the document is text, one string: split("\n") | map(select(test("error")))`
	case list && strings.Contains(msg, "expected an object but got: array"):
		e.Hint = "an array needs [] before a field; the document is one: .[] | …"
	case strings.Contains(msg, "cannot iterate over: null"):
		e.Hint = "that field is missing here; []? and .field[]? skip what is not there"
	case strings.Contains(msg, "cannot iterate over"):
		e.Hint = "[] needs an array or object; []? skips others"
	case strings.Contains(msg, "expected an object"), strings.Contains(msg, "expected an array"):
		e.Hint = ".field? skips values of another type; proxy_explore shows the types"
	case strings.Contains(msg, "cannot be matched"), strings.Contains(msg, "cannot be applied to"):
		e.Hint = `a field may be null or a number: (.field // "" | tostring) is a string`
	default:
		e.Hint = "proxy_explore shows fields and types"
	}
	return e
}
