package digest

import "bytes"

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

// definedName is the name that a line defines, if it can be searched for.
func definedName(line []byte) string {
	t := bytes.TrimLeft(line, " \t")
	for {
		word := wordAt(t)
		after := bytes.TrimLeft(t[len(word):], " !*")
		switch {
		case len(word) == 0:
			return ""
		case definers[string(word)] != "" && startsWith(after, '('): // a receiver
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
		if open := bytes.IndexByte(t, '('); open > len(word) && !startsWith(t[len(word):], '(') {
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
