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
var modifiers = wordSet("export default pub public private protected internal static async abstract final sealed declare unsafe extern inline virtual override partial open data suspend operator local constexpr readonly mut global friend synchronized native required mutating fileprivate implicit get set case")

// definers make a definition, with how it is counted.
var definers = map[string]string{
	"func": "functions", "fn": "functions", "def": "functions", "function": "functions", "fun": "functions", "sub": "functions", "proc": "functions", "defp": "functions", "macro_rules": "macros", "defmacro": "macros",
	"class": "classes", "interface": "interfaces", "struct": "structs", "enum": "enums", "trait": "traits", "impl": "impls", "union": "unions", "record": "records", "protocol": "protocols", "extension": "extensions", "object": "objects",
	"namespace": "namespaces", "module": "modules", "mod": "modules", "defmodule": "modules", "package": "packages", "type": "types", "typedef": "types", "message": "messages", "service": "services", "rpc": "methods",
	"const": "constants", "let": "constants", "var": "variables", "val": "constants", "resource": "resources", "variable": "variables", "output": "outputs", "provider": "providers",
	"CREATE": "statements", "create": "statements",
}

// statements look like a call or a definition and are none.
var statements = wordSet("if for while switch catch return else do try with foreach using lock new throw await yield elif except assert print echo exit defer go select range match loop unless until raise del and or not in is typeof delete sizeof super this self require case end fi done esac then elseif")

// maxColumn is where definitions are local and stand in no outline.
const maxColumn = 12

// A definition is what a line of a program defines.
type definition struct {
	kind   string // functions; nothing if it defines nothing
	column int    // blanks before it
	rank   int    // the lower, the more it says of the program
}

// definitionOf reads what a line defines by how it looks, in whatever language:
// words such as class or def with a name behind, or a name with parameters and a
// body. It reads words, as most lines of a program define nothing.
func definitionOf(line []byte) definition {
	none := definition{}
	i, column := 0, 0
	for ; i < len(line) && isIndented(line[i:]); i++ {
		if column++; line[i] == '\t' {
			column += 3
		}
	}
	if i == len(line) || column > maxColumn {
		return none
	}
	rest := bytes.TrimRight(line[i:min(len(line), i+300)], " \t")
	if c := line[i]; !isLetter(c) && c != '_' {
		if open := bytes.IndexByte(rest, '('); column == 0 && hasPrefix(rest, "#define ") && open > 8 && bytes.IndexByte(rest[8:open], ' ') < 0 {
			return definition{kind: "macros"}
		}
		return none
	}
	modified := false
	for {
		word := wordAt(rest)
		after := rest[len(word):]
		switch {
		case len(word) == 0:
			return none
		case modifiers[string(word)] && byteAt(after, 0) == ' ', string(word) == "pub" && byteAt(after, 0) == '(':
			if after[0] == '(' { // pub(crate)
				after = after[bytes.IndexByte(after, ')')+1:]
			}
			rest = bytes.TrimLeft(after, " ")
			modified = true
			continue
		case statements[string(word)]:
			return none
		}
		d := definition{column: column, rank: 2 * ((column + 3) / 4)}
		if kind := definers[string(word)]; kind != "" && isOneOf(byteAt(after, 0), " !*<(") {
			d.kind = kind
			d.byKeyword(string(word), bytes.TrimLeft(after, " !*"), modified)
		} else {
			d.bySignature(rest, modified)
		}
		return d
	}
}

// byKeyword is for a definition that begins with word and goes on with after.
// It clears the kind where the word has another meaning.
func (d *definition) byKeyword(word string, after []byte, modified bool) {
	if word == "func" && byteAt(after, 0) == '(' { // of Go, with a receiver
		end := bytes.IndexByte(after, ')')
		if d.kind = ""; end > 0 && isLetter(byteAt(after, end+2)) {
			d.kind, d.rank = "methods", d.rank+3-btoi(isUpper(after[end+2]))
		}
		return
	}
	name := wordAt(after)
	next := after[len(name):]
	if len(name) == 0 && (len(after) == 0 || !isOneOf(after[0], `"${[(<`)) {
		d.kind = ""
		return
	}
	capital := isUpper(byteAt(name, 0))
	switch word {
	case "const", "let", "var", "val", "variable":
		isFunction := contains(next, "=>") || contains(next, "= function") || contains(next, "= async ")
		switch {
		case contains(next, "= require("), byteAt(next, 0) == '(' && len(name) > 0:
			d.kind = ""
		case isFunction:
			d.kind = "functions"
		case d.column > 0 && !(modified && d.column <= 4), len(name) == 0 && byteAt(after, 0) != '"':
			d.kind = ""
		default:
			d.rank++
		}
	case "type", "object", "message", "service", "module", "record", "extension", "output", "provider", "resource", "mod", "union", "package":
		if !isBody(next, word) {
			d.kind = ""
		}
		if d.rank++; contains(next, " struct") || contains(next, " interface") || word == "module" || word == "resource" {
			d.rank--
		}
	case "class", "interface", "struct", "enum", "trait", "namespace", "protocol":
		// In prose words follow: "class of things that". With ; it is declared elsewhere, or a field of C.
		if !bytes.ContainsAny(next, "{(:<") && len(next) > 0 && !contains(next, " extends ") && !contains(next, " implements ") || byteAt(next, 0) == ' ' && lastByte(next) == ';' {
			d.kind = ""
		} else if lastByte(next) == ';' && word != "interface" {
			d.kind = ""
		}
	case "def", "func", "fn", "function", "fun", "sub", "defp", "proc":
		switch {
		case byteAt(next, 0) == ' ' && !bytes.ContainsAny(next, "({") && word != "sub": // prose, or of Ruby
			d.kind = ""
		case d.column > 0 && d.column <= 4:
			d.kind = "methods"
		case d.column == 0 && word == "func": // what others may call says more
			d.rank += 3 - 2*btoi(capital)
		}
	case "CREATE", "create":
		switch strings.ToUpper(string(name)) {
		case "TABLE", "VIEW", "INDEX", "FUNCTION", "PROCEDURE", "TRIGGER", "SCHEMA", "DATABASE", "TYPE", "OR", "UNIQUE", "TEMPORARY", "MATERIALIZED":
		default:
			d.kind = ""
		}
	case "typedef":
		d.rank++
	}
}

// isBody reports what may follow a name that is defined by a word which has other
// meanings too: type: 'x', object = 1, "type of".
func isBody(next []byte, word string) bool {
	t := bytes.TrimLeft(next, " ")
	if len(t) == 0 {
		return word == "module" || word == "mod" || word == "object" || word == "package"
	}
	if isOneOf(t[0], `={<([;"*`) || t[0] == ':' && (word == "extension" || word == "object") {
		return true
	}
	return lastByte(t) == '{' || hasPrefix(t, "do") || hasPrefix(t, "interface") || word == "type" && byteAt(next, 0) == ' ' && bytes.IndexByte(t, ' ') < 0 || word == "package" && byteAt(next, 0) == '.'
}

// bySignature is for a function without a keyword: int main(void) {, method(x: T):
// U;, foo(x) {, app.use = function use(fn) {.
func (d *definition) bySignature(rest []byte, modified bool) {
	open := bytes.IndexByte(rest, '(')
	if open < 1 {
		return
	}
	name, value, assigned := bytes.Cut(rest, []byte(" = "))
	if assigned && len(name) < open {
		if d.column == 0 && bytes.IndexByte(name, '.') > 0 && bytes.IndexByte(name, ' ') < 0 && (hasAnyPrefix(value, []string{"function", "async "}) || contains(value, "=>")) {
			d.kind = "functions"
		}
		return
	}
	for _, c := range rest[:open] {
		if !isWord(c) && !isOneOf(c, " *&<>:,~[]?") {
			return
		}
	}
	words := bytes.Fields(rest[:open])
	if statements[string(words[len(words)-1])] || rest[open-1] == ' ' && len(words) > 1 && lastByte(rest) != '{' {
		return
	}
	switch last := lastByte(rest); {
	case last == '{':
		if contains(rest, "=> {") || contains(rest, "function(") || contains(rest, "function (") { // a call
			return
		}
	case last == ';':
		declared := len(words) > 1 && hasSuffix(rest, ");") && (modified || d.column == 0 && bytes.IndexByte(rest, '=') < 0)
		if !declared && !contains(rest, "): ") {
			return
		}
		d.rank++
	case (last == ')' || last == ',') && len(words) > 1 && (modified || d.column == 0):
	default:
		return
	}
	d.kind = "functions"
	if d.column > 0 {
		d.kind = "methods"
	}
}

func hasSuffix(line []byte, suffix string) bool { return bytes.HasSuffix(line, []byte(suffix)) }
