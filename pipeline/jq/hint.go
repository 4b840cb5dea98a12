package jq

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"rlmproxy/pipeline/doc"
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
	text := fmt.Sprintf("jq: %s\n    %s\n    %s^", show.ClipBytes(what, 200), shown, strings.Repeat(" ", len(before)))
	return &Error{Code: doc.BadJQ, Text: text, Err: cause}
}

// A slip is a common mistake and its correction.
type slip struct {
	found *regexp.Regexp
	fix   func(string) string
	why   string
}

var slips = []slip{
	{commandLine, func(s string) string { return commandLine.FindStringSubmatch(s)[1] }, "the program alone"},
	{regexp.MustCompile(`^\s*\$\.?[\w.\[\]*'"-]*\s*$`), fixJSONPath, "this is JSONPath"},
	{regexp.MustCompile(`'`), func(s string) string { return strings.ReplaceAll(strings.Trim(s, "'"), "'", `"`) }, "strings take double quotes"},
	{regexp.MustCompile(`^\s*[A-Za-z_][\w]*([.\[]|\s*$|\s*\|)`), func(s string) string { return "." + strings.TrimSpace(s) }, "fields start with a dot"},
	{regexp.MustCompile(`\[\*\]|\.\*`), func(s string) string { return strings.NewReplacer("[*]", "[]", ".*", "[]").Replace(s) }, "[] iterates"},
	{regexp.MustCompile(`\.[A-Za-z_]\w*-[\w-]*`), quoteDashed, "keys with a dash need quotes"},
	{regexp.MustCompile(`&&|\|\|`), func(s string) string { return strings.NewReplacer("&&", "and", "||", "or").Replace(s) }, "operators are words"},
	{foreign, func(s string) string { return foreign.ReplaceAllStringFunc(s, native) }, "jq names it otherwise"},
	{regexp.MustCompile(`===`), func(s string) string { return strings.ReplaceAll(s, "===", "==") }, "== compares"},
}

// commandLine is a program in the call of a shell.
var commandLine = regexp.MustCompile(`^\s*jq\s+(?:-\w+\s+)*'([^']*)'\s*$`)

// foreign are functions of other languages where a call of one may stand: not
// behind a dot, in a string or before a colon.
var foreign = regexp.MustCompile(`(?:^|[|(,;\s])(?:where|filter|count|len|size|sum|avg|mean|average|distinct|uniq|lower|upper|orderBy|order_by|groupBy|sortBy|parse_json)\b`)

var natives = map[string]string{
	"where": "select", "filter": "select", "count": "length", "len": "length", "size": "length", "sum": "add",
	"avg": "(add / length)", "mean": "(add / length)", "average": "(add / length)", "distinct": "unique", "uniq": "unique",
	"lower": "ascii_downcase", "upper": "ascii_upcase", "orderBy": "sort_by", "order_by": "sort_by", "sortBy": "sort_by",
	"groupBy": "group_by", "parse_json": "fromjson",
}

// native is what foreign found, in jq's words.
func native(found string) string {
	at := strings.LastIndexFunc(found, func(r rune) bool { return !(r == '_' || unicode.IsLetter(r)) }) + 1
	return found[:at] + natives[found[at:]]
}

// fixJSONPath writes $.items[*]['user'].id as .items[]["user"].id.
func fixJSONPath(s string) string {
	s = strings.TrimPrefix(strings.TrimSpace(s), "$")
	s = strings.NewReplacer("[*]", "[]", ".*", "[]", "['", `["`, "']", `"]`).Replace(s)
	if before, key, deep := strings.Cut(s, ".."); deep {
		if before == "" {
			before = "."
		}
		return before + " | .. | ." + key + "? // empty"
	}
	if s == "" || s[0] != '.' {
		s = "." + s
	}
	return s
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
		if fixed := s.fix(source); fixed != source && Compiles(fixed) {
			return s.why + ": " + fixed
		}
	}
	return "proxy_explore shows which fields exist; a program looks like .items[] | {name, id}"
}
