package pipeline

import "bytes"

// modifiers may stand before the word that makes a definition.
var modifiers = words("export default pub public private protected internal static async abstract final sealed declare unsafe extern inline virtual override partial open data suspend operator local constexpr readonly mut global friend synchronized native required mutating fileprivate explicit __attribute__ implicit get set case")

// definers make a definition, with how it is counted. Those with a capital for
// the rank below are of less interest.
var definers = map[string]string{
	"func": "functions", "fn": "functions", "def": "functions", "function": "functions", "fun": "functions", "sub": "functions", "proc": "functions", "defp": "functions", "macro_rules": "macros", "defmacro": "macros",
	"class": "classes", "interface": "interfaces", "struct": "structs", "enum": "enums", "trait": "traits", "impl": "impls", "union": "unions", "record": "records", "protocol": "protocols", "extension": "extensions", "object": "objects",
	"namespace": "namespaces", "module": "modules", "mod": "modules", "defmodule": "modules", "type": "types", "typedef": "types", "message": "messages", "service": "services", "rpc": "methods",
	"const": "constants", "let": "constants", "var": "variables", "val": "constants", "resource": "resources", "variable": "variables", "output": "outputs", "provider": "providers",
}

// control words look like a call or a definition and are none.
var control = words("if for while switch catch return else do try with foreach using lock case new throw await yield elif except assert print echo exit defer go select range match loop unless until raise del and or not in is typeof delete void sizeof super this self require")

func words(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range bytes.Fields([]byte(s)) {
		m[string(w)] = true
	}
	return m
}

// maxDefIndent is where definitions are local and stand in no outline.
const maxDefIndent = 12

// definition says what a line defines, or nothing, and how deep it is. It
// reads words, as most lines of a program define nothing.
func definition(line []byte, lang string) (kind string, rank int) {
	i, column := 0, 0
	for ; i < len(line); i++ {
		if line[i] == ' ' {
			column++
		} else if line[i] == '\t' {
			column += 4
		} else {
			break
		}
	}
	if i >= len(line) || column > maxDefIndent {
		return "", 0
	}
	rank = 2 * ((column + 3) / 4)
	if column > 0 && column < 4 {
		rank = 2
	}
	c := line[i]
	if !isAlpha(c) && c != '_' {
		return special(line, i, lang), rank
	}
	rest := line[i:min(len(line), i+300)]
	first := true
	for {
		word := wordAt(rest)
		if len(word) == 0 {
			return "", 0
		}
		after := rest[len(word):]
		w := string(word)
		switch {
		case control[w]:
			return "", 0
		case modifiers[w] && first0(after, ' ', '('):
			if after[0] == '(' { // pub(crate)
				end := bytes.IndexByte(after, ')')
				if end < 0 || w != "pub" {
					return special(line, i, lang), rank
				}
				after = after[end+1:]
			}
			rest = bytes.TrimLeft(after, " ")
			first = false
			continue
		}
		if kind := definers[w]; kind != "" && first0(after, ' ', '!', '*', '<', '(') {
			return keyword(w, kind, after, rank, column, !first, lang)
		}
		if lang == "assembly" {
			if w == "TEXT" || column == 0 && first0(after, ':') {
				return "labels", rank
			}
			return "", 0
		}
		if lang == "SQL" && len(w) == 6 && foldPrefix(word, "create") {
			return "statements", rank
		}
		return signature(rest, word, rank, column, !first, lang)
	}
}

// keyword is a definition that begins with one.
func keyword(w, kind string, after []byte, rank, column int, modified bool, lang string) (string, int) {
	after = bytes.TrimLeft(after, " !*")
	if w == "func" && len(after) > 0 && after[0] == '(' { // of Go, with a receiver
		if end := bytes.IndexByte(after, ')'); end > 0 && len(after) > end+2 && isAlpha(after[end+2]) {
			return "methods", rank + 3 - btoi(isUpper(after[end+2]))
		}
		return "", 0
	}
	if lang == "Go" && len(after) > 0 {
		// Types say most, then what others may call.
		switch {
		case w == "func" && wordAt(after) != nil:
			return kind, rank + 3 - 2*btoi(isUpper(after[0]))
		case w == "type" && column == 0 && (bytes.Contains(after, []byte(" struct")) || bytes.Contains(after, []byte(" interface"))):
			return kind, rank
		}
	}
	if w == "impl" && len(after) > 0 {
		return kind, rank
	}
	name := wordAt(after)
	if len(name) == 0 && !(len(after) > 0 && (after[0] == '"' || after[0] == '$' || after[0] == '{' || after[0] == '[' || after[0] == '(')) {
		return "", 0
	}
	next := bytes.TrimRight(after[len(name):], " \t\r\n")
	switch w {
	case "const", "let", "var", "val", "variable":
		if bytes.Contains(next, []byte("= require(")) {
			return "", 0
		}
		if w == "const" && first0(bytes.TrimLeft(next, " "), '(') && lang != "Go" {
			return "", 0
		}
		if bytes.Contains(next, []byte("=>")) || bytes.Contains(next, []byte("= function")) || bytes.Contains(next, []byte("= async ")) {
			return "functions", rank
		}
		if column > 0 && !(modified && column <= 4) || len(name) == 0 {
			return "", 0
		}
		if lang == "Go" && !isUpper(name[0]) {
			rank += 2
		}
		return kind, rank + 1
	case "type", "object", "message", "service", "module", "record", "extension", "output", "provider", "resource", "mod", "union":
		// Words of other meanings too: type: 'x', object = 1, "type of".
		if !definesName(next, w, lang) {
			return "", 0
		}
		if w == "type" {
			rank++
		}
	case "class", "interface", "struct", "enum", "def", "func", "fn", "function", "fun", "namespace", "trait", "sub":
		// In prose, a small word follows: "class of things that".
		if len(next) > 0 && next[0] == ' ' && (w == "class" || w == "function" || w == "interface") && bytes.IndexByte(next, '{') < 0 && bytes.IndexByte(next, '(') < 0 && next[len(next)-1] != ':' && !bytes.Contains(next, []byte(" extends ")) && !bytes.Contains(next, []byte(" implements ")) && !bytes.Contains(next, []byte(" < ")) {
			return "", 0
		}
		if len(next) > 0 && next[len(next)-1] == ';' && (w == "class" || w == "struct" || w == "enum") { // forward, or a field of C
			return "", 0
		}
		if (w == "def" || w == "func" || w == "fn" || w == "fun" || w == "function" || w == "sub") && column > 0 && kind == "functions" {
			kind = "methods"
			if column > 4 {
				kind = "functions"
			}
		}
	case "typedef":
		rank++
	}
	return kind, rank
}

// definesName reports what may follow a name that is defined.
func definesName(next []byte, w, lang string) bool {
	t := bytes.TrimLeft(next, " ")
	if len(t) == 0 {
		return w == "module" || w == "mod" || w == "object"
	}
	switch t[0] {
	case '=', '{', '<', '(', '[', ';', '"', '*':
		return true
	case ':':
		return w == "extension" || w == "object"
	}
	return len(next) > 0 && next[0] == ' ' && lang == "Go" && isAlpha(t[0]) || t[len(t)-1] == '{' || bytes.HasPrefix(t, []byte("do"))
}

// signature is a function without a keyword: int main(void) {, foo(x) {,
// method(x: T): U;.
func signature(rest, word []byte, rank, column int, modified bool, lang string) (string, int) {
	switch lang {
	case "Python", "Go", "Ruby", "SQL", "Rust", "Lua", "Elixir":
		return "", 0
	case "Makefile":
		return makeTarget(rest, column)
	case "CSS":
		if t := bytes.TrimRight(rest, " \r\n"); column == 0 && len(t) > 0 && t[len(t)-1] == '{' {
			return "rules", rank
		}
		return "", 0
	case "Dockerfile":
		if string(word) == "FROM" {
			return "stages", 0
		}
		return "", 0
	}
	open := bytes.IndexByte(rest, '(')
	if open < 1 {
		return "", 0
	}
	// app.use = function use(fn) {
	if i := bytes.Index(rest, []byte(" = ")); i > 0 && column == 0 && bytes.IndexByte(rest[:i], ' ') < 0 && bytes.IndexByte(rest[:i], '.') > 0 {
		if value := rest[i+3:]; hasPrefix(value, "function") || hasPrefix(value, "async ") || bytes.Contains(value, []byte("=>")) {
			return "functions", rank
		}
		return "", 0
	}
	head := rest[:open]
	for _, c := range head {
		if !isAlpha(c) && !isDigit(c) && bytes.IndexByte([]byte("_ *&<>:,$~[]?"), c) < 0 {
			return "", 0
		}
	}
	t := bytes.TrimRight(rest, " \t\r\n")
	last := t[len(t)-1]
	fields := bytes.Fields(head)
	switch {
	case len(fields) == 0 || control[string(fields[len(fields)-1])]:
		return "", 0
	case lang == "shell":
		if column == 0 && bytes.HasPrefix(rest[open:], []byte("()")) && len(fields) == 1 {
			return "functions", rank
		}
		return "", 0
	case last == '{':
		if len(fields) == 1 && column == 0 && !modified && lang != "C or C++" { // a call with a block
			return "", 0
		}
		if bytes.Contains(t, []byte("=> {")) || bytes.Contains(t, []byte("function(")) || bytes.Contains(t, []byte("function (")) {
			return "", 0
		}
	case last == ';':
		typed := bytes.Contains(t, []byte("): ")) // of TypeScript
		c := column == 0 && len(fields) > 1 && bytes.HasSuffix(t, []byte(");")) && bytes.IndexByte(t, '=') < 0
		abstract := modified && len(fields) > 1 && bytes.HasSuffix(t, []byte(");"))
		if !typed && !c && !abstract {
			return "", 0
		}
		rank++
	case last == ')' && column == 0 && len(fields) > 1 && lang == "C or C++", last == ',' && column == 0 && len(fields) > 1 && lang == "C or C++", modified && (last == ')' || last == ',') && len(fields) > 1:
	default:
		return "", 0
	}
	if column > 0 {
		return "methods", rank
	}
	return "functions", rank
}

// makeTarget is a rule of a Makefile.
func makeTarget(rest []byte, column int) (string, int) {
	i := bytes.IndexByte(rest, ':')
	if column > 0 || i < 1 || at(rest, i+1, "=") || bytes.IndexByte(rest[:i], '=') >= 0 {
		return "", 0
	}
	return "targets", 0
}

// special is a definition that does not begin with a letter.
func special(line []byte, i int, lang string) string {
	t := bytes.TrimRight(line[i:min(len(line), i+300)], " \t\r\n")
	switch {
	case len(t) < 2:
	case lang == "CSS" && i == 0 && t[len(t)-1] == '{':
		return "rules"
	case lang == "Makefile" && i == 0 && (t[0] == '$' || t[0] == '%' || t[0] == '.' && t[1] != 'P'):
		kind, _ := makeTarget(t, 0)
		return kind
	case lang == "assembly" && i == 0 && t[len(t)-1] == ':':
		return "labels"
	case t[0] == '#' && (t[1] == '[' || t[1] == '!'):
	case lang == "C or C++" && i == 0 && hasPrefix(t, "#define "):
		if open := bytes.IndexByte(t, '('); open > 8 && bytes.IndexByte(t[8:open], ' ') < 0 {
			return "macros"
		}
	}
	return ""
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

// wordAt is the identifier that s begins with.
func wordAt(s []byte) []byte {
	i := 0
	for i < len(s) && (isAlpha(s[i]) || isDigit(s[i]) || s[i] == '_' || s[i] == '$' || s[i] >= 0x80) {
		i++
	}
	return s[:i]
}

// first0 reports that s begins with one of chars.
func first0(s []byte, chars ...byte) bool {
	return len(s) > 0 && bytes.IndexByte(chars, s[0]) >= 0
}

// definedName is the name that a line defines, if it can be searched for.
func definedName(line []byte) string {
	t := bytes.TrimLeft(line, " \t")
	for {
		word := wordAt(t)
		after := bytes.TrimLeft(t[len(word):], " !*")
		switch {
		case len(word) == 0:
			return ""
		case definers[string(word)] != "" && first0(after, '('): // a receiver
			end := bytes.IndexByte(after, ')')
			if end < 0 {
				return ""
			}
			t = bytes.TrimLeft(after[end+1:], " ")
			continue
		case len(after) > 0 && (modifiers[string(word)] || definers[string(word)] != "") && len(after) < len(t)-len(word):
			t = after
			continue
		}
		// int main(: the name stands before the parenthesis.
		if open := bytes.IndexByte(t, '('); open > len(word) && !first0(t[len(word):], '(') {
			if i := bytes.LastIndexAny(t[:open], " *&:"); i >= 0 && len(wordAt(t[i+1:])) > 2 {
				word = wordAt(t[i+1:])
			}
		}
		if len(word) < 3 || len(word) > 60 || !isPrintable(string(word)) || bytes.IndexByte(word, '$') >= 0 {
			return ""
		}
		return string(word)
	}
}
