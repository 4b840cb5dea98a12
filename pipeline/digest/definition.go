package digest

import (
	"bytes"
	"strings"
)

func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

// modifiers may stand before the word that makes a definition.
var modifiers = wordSet("export default pub public private protected internal static async abstract final sealed declare unsafe extern inline virtual override partial open data suspend operator local constexpr readonly mut global friend synchronized native required mutating fileprivate implicit get set")

// definers make a definition, with how it is counted.
var definers = map[string]string{
	"func": "functions", "fn": "functions", "def": "functions", "function": "functions", "fun": "functions", "sub": "functions", "proc": "functions", "defp": "functions", "macro_rules": "macros",
	"class": "classes", "interface": "interfaces", "struct": "structs", "enum": "enums", "trait": "traits", "protocol": "protocols", "namespace": "namespaces", "impl": "impls", "defmodule": "modules",
	"union": "unions", "record": "records", "extension": "extensions", "object": "objects", "module": "modules", "mod": "modules", "type": "types", "typedef": "types", "message": "messages", "service": "services", "rpc": "methods",
	"resource": "resources", "variable": "variables", "output": "outputs", "const": "constants", "let": "constants", "val": "constants", "var": "variables", "CREATE": "statements", "create": "statements",
}

// statements look like a call or a definition and are none.
var statements = wordSet("if for while switch catch return else do try with foreach using lock new throw await yield elif except assert print echo exit defer go select range match loop unless until raise del and or not in is typeof delete sizeof super this self require case end fi done esac then elseif elsif my use")

// maxColumn is where definitions are local and stand in no outline.
const maxColumn = 12

// A definition is what a line of a program defines.
type definition struct {
	kind   string // functions; nothing if the line defines nothing
	column int    // blanks before it
	rank   int    // the lower, the more it says of the program
}

// definitionOf reads what a line defines by how it looks, in whatever language: a
// word such as class or def with a name behind, or a name with parameters and a
// body. It reads words, as most lines of a program define nothing.
func definitionOf(line []byte) (d definition) {
	rest := bytes.TrimLeft(line, " \t")
	indent := line[:len(line)-len(rest)]
	d.column = len(indent) + 3*bytes.Count(indent, []byte("\t"))
	d.rank = 2 * ((d.column + 3) / 4)
	rest = bytes.TrimRight(head(rest, 300), " \t")
	modified := false
	for d.column <= maxColumn {
		word := wordAt(rest)
		after := rest[len(word):]
		next := bytes.TrimLeft(after, " !*")
		switch kind := definers[string(word)]; {
		case len(word) == 0 || isDigit(word[0]) || statements[string(word)]:
			return d
		case modifiers[string(word)] && byteAt(after, 0) == ' ':
			rest, modified = next, true
			continue
		case string(word) == "pub" && byteAt(after, 0) == '(': // pub(crate) fn
			rest = bytes.TrimLeft(after[bytes.IndexByte(after, ')')+1:], " ")
			if modified = true; len(rest) < len(after) {
				continue
			}
		case string(word) == "func" && byteAt(next, 0) == '(': // func (r *T) name, of Go
			_, name, _ := bytes.Cut(next, []byte(") "))
			if len(wordAt(name)) > 0 {
				d.kind, d.rank = "methods", d.rank+3-btoi(isUpper(name[0]))
			}
		case kind != "" && isOneOf(byteAt(after, 0), " !*<("):
			if d.isKeyword(string(word), next, modified) {
				d.kind = kind
				d.refine(string(word), next)
			}
		case isSignature(rest, d.column, modified):
			d.kind = "functions"
			d.rank += btoi(lastByte(rest) == ';')
			d.refine("", rest)
		}
		return d
	}
	return d
}

// refine tells methods from functions, functions from constants, and what others
// may use from the rest.
func (d *definition) refine(word string, next []byte) {
	name := wordAt(next)
	switch {
	case d.kind == "functions" && d.column > 0 && (word == "" || d.column <= 4):
		d.kind = "methods"
	case word == "func" && !isUpper(byteAt(name, 0)):
		d.rank += 3
	case word == "func", word == "typedef":
		d.rank++
	case word == "type" && !contains(next, " struct") && !contains(next, " interface"):
		d.rank++
	case d.kind == "constants" || d.kind == "variables":
		d.rank++
		if contains(next, "=>") || contains(next, "= function") || contains(next, "= async ") {
			d.kind, d.rank = "functions", d.rank-1
		}
	}
}

// isKeyword reports that a word which defines does so here, where next follows. In
// prose and as the names of fields such words stand too: "class of things that",
// type: 'x', object = 1.
func (d *definition) isKeyword(word string, next []byte, modified bool) bool {
	name := wordAt(next)
	body := bytes.TrimLeft(next[len(name):], " ")
	first, last := byteAt(body, 0), lastByte(next)
	named := len(name) > 0 || isOneOf(byteAt(next, 0), `"${[(<`)
	switch word {
	case "const", "let", "val", "var", "variable":
		isFunction := contains(body, "=>") || contains(body, "= function") || contains(body, "= async ")
		local := d.column > 0 && !(modified && d.column <= 4)
		return (isFunction || !local) && (len(name) > 0 && first != '(' || byteAt(next, 0) == '"') && !contains(body, "= require(")
	case "class", "interface", "struct", "enum", "trait", "protocol", "namespace":
		opens := len(body) == 0 || isOneOf(first, "{(:<") || last == '{' || last == ':' || contains(body, " extends ") || hasPrefix(body, "extends ") || contains(body, "implements ")
		return named && opens && (last != ';' || word == "interface")
	case "def", "func", "fn", "function", "fun", "sub", "defp", "proc":
		return named && (len(body) == 0 || isOneOf(first, "(<{[:.=?!") || last == '{' || word == "sub")
	case "CREATE", "create": // TABLE, or replace view
		return last == '(' || last == ';' || isUpper(byteAt(next, 0)) || hasPrefix(next, "table ")
	case "impl", "typedef", "rpc", "macro_rules", "defmodule":
		return named
	}
	if len(body) == 0 {
		return named && (word == "module" || word == "mod" || word == "object")
	}
	return named && (isOneOf(first, `={<([;"*`) || last == '{' || hasPrefix(body, "do") || hasPrefix(body, "struct") || hasPrefix(body, "interface") ||
		first == ':' && (word == "extension" || word == "object") || word == "type" && bytes.IndexByte(body, ' ') < 0 && isWord(first))
}

// isSignature reports a function without a keyword: int main(void) {, method(x: T):
// U;, foo(x) {, app.use = function use(fn) {.
func isSignature(rest []byte, column int, modified bool) bool {
	open := bytes.IndexByte(rest, '(')
	if open < 1 {
		return false
	}
	name, value, assigned := bytes.Cut(rest, []byte(" = "))
	if assigned && len(name) < open {
		return column == 0 && bytes.IndexByte(name, '.') > 0 && bytes.IndexByte(name, ' ') < 0 && (hasPrefix(value, "function") || hasPrefix(value, "async ") || contains(value, "=>"))
	}
	for _, c := range rest[:open] {
		if !isWord(c) && !isOneOf(c, " *&<>:,~[]?") {
			return false
		}
	}
	words := bytes.Fields(rest[:open])
	typed := len(words) > 1 && rest[open-1] != ' ' && (modified || column == 0)
	if statements[string(words[len(words)-1])] {
		return false
	}
	switch lastByte(rest) {
	case '{':
		return !contains(rest, "=> {") && !contains(rest, "func(") && !contains(rest, "function(") && !contains(rest, "function (") // a call
	case ';':
		return typed && bytes.HasSuffix(rest, []byte(");")) && bytes.IndexByte(rest, '=') < 0 || contains(rest, "): ")
	case ')', ',':
		return typed
	}
	return false
}
