package query

import (
	"regexp"
	"slices"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/jq"
)

// A slip is a common mistake in the letters of a program, and its correction.
type slip struct {
	found *regexp.Regexp
	fix   string // a replacement of found
}

// wrappings are what is around a program.
var wrappings = []slip{
	{regexp.MustCompile(`(?s)^(?:.*\|\s*)?jq\s+(?:-+[\w-]+\s+)*(?:'([^']*)'|"(.*)"|(\S+))[^'"]*$`), "$1$2$3"},
	{regexp.MustCompile("(?s)^(?:```\\w*\\s|[`'])([^`']*)[`']+$"), "$1"},
	{regexp.MustCompile(`(?s)\s*(?:[;,]|\|\s*(?:head|less|wc|sort|grep|tail)\b[^(]*|\|)\s*$`), ""},
	{regexp.MustCompile(`[.?]+\s*$`), ""},
	{regexp.MustCompile(`^\s*\|\s*|^\s*(?:return|print|echo)\s+`), ""},
	{regexp.MustCompile(`[“”„‘’]|\\"`), `"`},
}

// slips are tried in this order.
var slips = []slip{
	// Paths of other languages.
	{regexp.MustCompile(`^\s*(?:\$?\.\.|//)(\w+)$`), `.. | .$1? // empty`},
	{regexp.MustCompile(`^\s*\$\.\.(\w+)`), `.. | .$1? // empty | `},
	{regexp.MustCompile(`^\s*\$\.?`), "."},
	{regexp.MustCompile(`^\s*(?:data|json|input|obj|root|response|result|results|d|doc|this)(\.|\[)`), ".$1"},
	{regexp.MustCompile(`\.(\d+)\b`), "[$1]"},
	{regexp.MustCompile(`\[\*\]|\.\*`), "[]"},
	{regexp.MustCompile(`\[(\d*)\.\.(\d*)\]`), "[$1:$2]"},
	// Methods.
	{regexp.MustCompile(`\.(?:length|size|count|len)(?:\(\))?\s*([)\]}|,<>=!]|$)`), " | length$1"},
	{regexp.MustCompile(`\.match\(`), " | test("},
	{regexp.MustCompile(`\.([a-z]\w+)\(`), " | $1("}, // the function may be a foreign one
	{regexp.MustCompile(`\b(\w+)\(\)`), "$1"},
	{regexp.MustCompile(`(?s)^\s*(?:list|sorted|set)\((.+)\)\s*$`), "[$1] | unique"},
	{regexp.MustCompile(`\b(?:head|take|top|limit|first)[ (](\d+)\)?\s*($|\|)`), ".[:$1] $2"},
	{regexp.MustCompile(`\|\s*\[(\d*:\d*)\]\s*$`), "| .[$1]"},
	{regexp.MustCompile(`\b(test|match|contains|startswith|endswith|split|has)\((\.[\w.]+)\s*[;,]\s*("(?:[^"\\]|\\.)*")\)`), "($2 | $1($3))"},
	{regexp.MustCompile(`(\[\d*:\d*\])\.`), "$1[]."},
	{regexp.MustCompile(`(?i)sort_by\(([^();,]+?)[;, ]+"?desc(?:ending)?"?\)`), "sort_by($1) | reverse"},
	// Operators.
	{regexp.MustCompile(`!\s*(\.[\w.]+)`), "($1 | not)"},
	{regexp.MustCompile(`(?i)\bnot\s+(\.[\w.]+)`), "($1 | not)"},
	{regexp.MustCompile(`(?i)(\.[\w.]+)\s+is\s+not\s+null`), "$1 != null"},
	{regexp.MustCompile(`(?i)(\.[\w.]+)\s+is\s+null`), "$1 == null"},
	{regexp.MustCompile(`(?i)(\.[\w.]+)\s+(?:like|ilike)\s+["']%?([^"'%]*)%?["']`), `($1 | tostring | test("$2"; "i"))`},
	{regexp.MustCompile(`(?i)(\.[\w.]+)\s+(contains|startswith|endswith|test|matches)\s+(["'][^"']*["'])`), "($1 | $2($3))"},
	{regexp.MustCompile(`(\.[\w.]+)\s*=?~\s*(["'][^"']*["']|/[^/]*/\w*)`), "($1 | test($2))"},
	{regexp.MustCompile(`(["'][^"']*["'])\s+in\s+(\.[\w.]+)`), "($2 | index($1))"},
	{regexp.MustCompile(`(?i)(\.[\w.]+)\s+in\s*[\[(]([^\])]*)[\])]`), "($1 | IN($2))"},
	{regexp.MustCompile(`\?\?`), "//"},
	{regexp.MustCompile(`(\.[\w.]+(?:\s*[=<>!]=?\s*[\w".]+)?)\s*\?\s*("[^"]*"|[\w.]+)\s*:\s*("[^"]*"|[\w.]+)`), "if $1 then $2 else $3 end"},
	{regexp.MustCompile(`(test|match|scan|capture|split|splits|sub|gsub|limit)\(([^()]*?"(?:[^"\\]|\\.)*"|\d+)\s*,\s*`), "$1($2; "},
	{regexp.MustCompile(`\(\s*/([^/]+)/(\w+)\s*\)`), `("$1"; "$2")`},
	{regexp.MustCompile(`\(\s*/([^/]+)/\s*\)`), `("$1")`},
	{regexp.MustCompile(`\\([dwsbDWSB.()\[\]{}+*?|^$-])`), `\\$1`},
	{regexp.MustCompile(`\(\?<?=([^()]*)\)`), "$1"},
	{regexp.MustCompile(`\(\?<?!([^()]*)\)`), ""},
	// Commas and pipes.
	{regexp.MustCompile(`([\])}\w"])\s+(select|map|sort_by|group_by|length|keys|to_entries|unique|test|contains|limit)\b`), "$1 | $2"},
	{regexp.MustCompile(`([\])])\s*\{`), "$1 | {"},
	{regexp.MustCompile(`([{,]\s*)\.(\w+)\s*([,}:])`), "$1$2$3"},
	{regexp.MustCompile(`([{,]\s*)\.?([\w.]+)\.(\w+)\s*([,}])`), "$1$3: .$2.$3$4"},
	{regexp.MustCompile(`([{,]\s*"?\w+"?)\s*=\s*`), "$1: "},
	{regexp.MustCompile(`(?i)\belse\s+if\b`), "elif"},
	{regexp.MustCompile(`(?s)(\bif\b.*\bthen\b[^)|]*?)\s*([)|]|$)`), "$1 end$2"},
	// Values that are not what a function takes.
	{regexp.MustCompile(`\[\]([^?]|$)`), "[]?$1"},
	{regexp.MustCompile(`@(csv|tsv)`), "[.[] | scalars] | @$1"},
	{regexp.MustCompile(`\bfromdate\b`), `(.[:19] + "Z" | fromdate)`},
	{regexp.MustCompile(`\[(\$\w+(?:\.\w+)+)\]`), "[$1 | tostring]"},
	{regexp.MustCompile(`\binputs\b`), ".[]"},
	{regexp.MustCompile(`\binput\b`), "."},
	{regexp.MustCompile(`\{\s*\((\.[\w.]+)\)\s*:`), "{($1 | tostring):"},
}

// without are programs with one of slips corrected.
func without(slips []slip, s string) (programs []string) {
	for _, fix := range slips {
		if fix.found.MatchString(s) {
			programs = append(programs, fix.found.ReplaceAllString(s, fix.fix))
		}
	}
	return programs
}

// A token is a string, a word, a number, an operator, or another character.
var token = regexp.MustCompile("(?s)\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'|`[^`]*`|[A-Za-z_$@][A-Za-z0-9_]*|\\d+|===|!==|<>|&&|\\|\\||==|!=|<=|>=|.")

var operators = map[string]string{
	"===": "==", "!==": "!=", "<>": "!=", "&&": "and", "||": "or", "AND": "and", "OR": "or", "None": "null", "NULL": "null", "undefined": "null", "nil": "null",
	"True": "true", "False": "false", "TRUE": "true", "FALSE": "false",
}

// foreign are functions of other languages in jq's words.
var foreign = map[string]string{
	"where": "select", "filter": "select", "count": "length", "len": "length", "size": "length", "sum": "add", "WHERE": "select",
	"avg": "(add / length)", "mean": "(add / length)", "average": "(add / length)", "distinct": "unique", "uniq": "unique", "distinct_by": "unique_by",
	"lower": "ascii_downcase", "upper": "ascii_upcase", "toLowerCase": "ascii_downcase", "toUpperCase": "ascii_upcase", "lowercase": "ascii_downcase", "downcase": "ascii_downcase", "to_lower": "ascii_downcase",
	"orderBy": "sort_by", "order_by": "sort_by", "sortBy": "sort_by", "groupBy": "group_by", "parse_json": "fromjson", "from_json": "fromjson", "to_json": "tojson",
	"str": "tostring", "string": "tostring", "to_string": "tostring", "int": "tonumber", "float": "tonumber", "number": "tonumber", "to_number": "tonumber", "parseInt": "tonumber",
	"startsWith": "startswith", "starts_with": "startswith", "endsWith": "endswith", "ends_with": "endswith", "includes": "contains", "matches": "test", "regex": "test", "match_regex": "test",
	"strip": "trim", "replace": "gsub", "flat_map": "map", "flatMap": "map", "exists": "any", "some": "any", "every": "all", "values_of": "values", "reversed": "reverse",
	"toentries": "to_entries", "entries": "to_entries", "fromentries": "from_entries", "sortby": "sort_by", "groupby": "group_by", "print": ".", "concat": "add", "round2": "round",
}

// translate writes a program of mixed languages in jq: strings in other quotes, operators,
// functions, and words that are fields without a dot.
func (a *adviser) translate(s string, all bool) string {
	tokens := token.FindAllString(s, -1)
	var out strings.Builder
	before := "" // the last token that is no space
	for i, t := range tokens {
		next := ""
		for _, n := range tokens[i+1:] {
			if n = strings.TrimSpace(n); n != "" {
				next = n
				break
			}
		}
		isWord := t[0] == '_' || t[0]|0x20 >= 'a' && t[0]|0x20 <= 'z'
		switch {
		case operators[t] != "" && before != ".":
			t = operators[t]
		case len(t) > 1 && (t[0] == '\'' || t[0] == '`'):
			inside := t[1 : len(t)-1]
			if t[0] == '\'' {
				t = `"` + strings.ReplaceAll(inside, `"`, `\"`) + `"`
			} else {
				t = strings.ReplaceAll(inside, "'", `"`)
			}
		case !isWord || before == "." || before == "$" || before == "?" || next == ":" && before != "?":
		case foreign[t] != "" && !(slices.Contains(a.words, t) && next != "("):
			t = foreign[t]
		case next != "(" && (before != "{" && before != "," || !inBraces(out.String())) && a.isField(t, all):
			t = "." + t
		}
		if strings.TrimSpace(t) != "" {
			before = t
		}
		out.WriteString(t)
	}
	return out.String()
}

// inBraces reports whether what is open last in s is an object.
func inBraces(s string) bool {
	depth := 0
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case ')', ']', '}':
			depth++
		case '(', '[', '{':
			if depth--; depth < 0 {
				return s[i] == '{'
			}
		}
	}
	return false
}

var keywords = strings.Fields("if then else elif end as def reduce foreach try catch label import include and or not null true false empty desc")

// isField reports whether a word stands for a field: one of the document, or with all any
// that is nothing to jq.
func (a *adviser) isField(word string, all bool) bool {
	if slices.Contains(keywords, word) {
		return false
	}
	return (slices.Contains(a.words, word) || all) && (!jq.Compiles(word) || slices.Contains(a.words, word) && !all)
}

// quoteKeys quotes the keys of the document that jq does not read behind a dot.
func (a *adviser) quoteKeys(s string) (programs []string) {
	odd := slices.DeleteFunc(slices.Clone(a.words), func(w string) bool { return doc.IsWord(w) || !strings.Contains(s, w) })
	slices.SortFunc(odd, func(x, y string) int { return len(y) - len(x) })
	for _, w := range slices.Compact(odd) {
		quoted := string(jsonscan.Quote(w))
		for _, before := range []string{".", "{", ",", ", ", "{ "} {
			if strings.Contains(s, before+w) {
				programs = append(programs, strings.ReplaceAll(s, before+w, before+quoted))
			}
		}
	}
	return programs
}

// closed is s with the brackets closed that it leaves open, and without one too many.
func closed(s string) string {
	var open []byte
	for _, t := range token.FindAllString(s, -1) {
		switch t {
		case "(":
			open = append(open, ')')
		case "[":
			open = append(open, ']')
		case "{":
			open = append(open, '}')
		case ")", "]", "}":
			if len(open) > 0 && open[len(open)-1] == t[0] {
				open = open[:len(open)-1]
			} else if strings.HasSuffix(s, t) {
				return strings.TrimSuffix(s, t)
			}
		}
	}
	slices.Reverse(open)
	return s + string(open)
}
