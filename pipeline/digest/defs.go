package digest

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
var control = words("if for while switch catch return else do try with foreach using lock case new throw await yield elif except assert print echo exit defer go select range match loop unless until raise del and or not in is typeof delete sizeof super this self require")

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
		case modifiers[w] && startsWith(after, ' ', '('):
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
		if kind := definers[w]; kind != "" && startsWith(after, ' ', '!', '*', '<', '(') {
			return keyword(w, kind, after, rank, column, !first, lang)
		}
		if lang == "assembly" {
			if w == "TEXT" || column == 0 && startsWith(after, ':') {
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
		if w == "const" && startsWith(bytes.TrimLeft(next, " "), '(') && lang != "Go" {
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

// wordAt is the identifier that s begins with.
func wordAt(s []byte) []byte {
	i := 0
	for i < len(s) && (isAlpha(s[i]) || isDigit(s[i]) || s[i] == '_' || s[i] == '$' || s[i] >= 0x80) {
		i++
	}
	return s[:i]
}

// startsWith reports that s begins with one of chars.
func startsWith(s []byte, chars ...byte) bool {
	return len(s) > 0 && bytes.IndexByte(chars, s[0]) >= 0
}
