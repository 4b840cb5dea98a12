package digest

import "bytes"

var (
	iniSection = lazy(`^\[\[?[\w."' :/@-]+\]?\]\s*([#;].*)?$`)
	iniKey     = lazy(`^\s*[\w."-]+\s*=`)
	tomlValue  = lazy(`^\s*[\w."-]+\s*=\s*("|'|\[|\{|true\b|false\b|\d+\s*$)`)
	envKey     = lazy(`^(export )?[A-Z][A-Z0-9_]*=`)
	codeEnd    = lazy(`[;{}()]\s*$`)
)

// guessSettings wants sections of keys, or keys in capitals.
func guessSettings(s *sniffed) string {
	sections, keys, toml, env, rest := 0, 0, 0, 0, 0
	open := false // a list over several lines
	for _, line := range s.lines {
		t := bytes.TrimSpace(line)
		switch {
		case len(t) == 0 || t[0] == '#' || t[0] == ';':
			rest++
		case iniSection().Match(line):
			sections++
			open = false
		case iniKey().Match(line) && !bytes.HasSuffix(t, []byte(";")) && !bytes.HasPrefix(bytes.TrimLeft(t[bytes.IndexByte(t, '='):], "= "), []byte("function")):
			keys++
			if envKey().Match(line) {
				env++
			}
			if tomlValue().Match(line) {
				toml++
			}
			open = t[len(t)-1] == '[' || t[len(t)-1] == '{' || bytes.HasSuffix(t, []byte(`"""`))
		case open || sections > 0 && (line[0] == ' ' || line[0] == '\t'):
			rest++
		}
	}
	rest -= len(s.lines) - s.full
	switch {
	case keys < 2 || !s.most(sections+keys+rest, 90):
		return ""
	case sections == 0 && 10*env < 9*keys && !(keys > 3 && s.count(codeEnd().Match) == 0 && 10*keys >= 8*(s.full-rest) && toml == keys):
		return ""
	case 2*toml > keys && env < keys:
		return "TOML"
	}
	return "INI"
}

var (
	heading   = lazy(`^#{1,6} +\S`)
	tableRule = lazy(`^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$`)
	listItem  = lazy(`^\s{0,8}([-*+]|\d{1,3}[.)]) +\S`)
	mdInline  = lazy("\\]\\((https?://|\\.?/|#|[\\w./-]+\\))|\\*\\*[^* ][^*]*\\*\\*|`[^`]+`|^> |^!\\[")
)

// guessMarkdown counts outside of code blocks. A comment of YAML or of a shell
// looks like a heading, but has a line beside it.
func guessMarkdown(s *sniffed) string {
	var fences, headings, deep, rules, items, inline, keys, code, total int
	fenced := false
	for i, line := range s.lines {
		t := bytes.TrimSpace(line)
		if hasPrefix(t, "```") || hasPrefix(t, "~~~") {
			fences++
			fenced = !fenced
			continue
		}
		if fenced || len(t) == 0 {
			continue
		}
		total++
		switch {
		case heading().Match(line):
			before := i == 0 || len(bytes.TrimSpace(s.lines[i-1])) == 0 || heading().Match(s.lines[i-1])
			after := i+1 == len(s.lines) || len(bytes.TrimSpace(s.lines[i+1])) == 0
			if before && after || i == 0 && bytes.HasPrefix(line, []byte("# ")) && after {
				headings++
			}
			if line[1] == '#' {
				deep++
			} else if !before || !after { // a comment
				total--
			}
		case i > 0 && (hasPrefix(line, "===") || hasPrefix(line, "---")) && len(bytes.Trim(t, "=-")) == 0 && len(bytes.TrimSpace(s.lines[i-1])) > 0:
			headings++
		case bytes.IndexByte(t, '|') >= 0 && tableRule().Match(line):
			rules++
		case listItem().Match(line):
			items++
		case yamlKey().Match(line):
			keys++
		case codeLine().Match(line):
			code++
		}
		if mdInline().Match(line) {
			inline++
		}
	}
	unclear := 2*(keys+code) > total || s.begins("#!", "<?php", "/*", "//")
	switch {
	case fences > 1 && !unclear, rules > 0:
		return "Markdown"
	case headings > 0 && !unclear && 4*code < total, deep > 1 && inline > 0 && !unclear:
		return "Markdown"
	case !unclear && keys == 0 && code == 0 && (100*items >= 8*total && items > 1 || inline > 1 && 10*inline > total):
		return "Markdown"
	}
	return ""
}

var yamlKey = lazy(`^\s*(- +)*("[^"]*"|'[^']*'|[\w./$@*-]+( [\w./()-]+)?):( +[^ ].*|\s*)$`)

// guessYAML wants keys, items and comments only. What is indented below a
// block scalar may be anything.
func guessYAML(s *sniffed) string {
	keys, items, odd, total, block := 0, 0, 0, 0, -1
	for _, line := range s.lines {
		t := bytes.TrimSpace(line)
		if len(t) == 0 {
			continue
		}
		total++
		in := indent(line)
		if block >= 0 && in > block {
			continue
		}
		block = -1
		switch {
		case t[0] == '#' || hasPrefix(line, "---") || hasPrefix(line, "..."), hasPrefix(line, "%YAML"):
		case yamlKey().Match(line) && !bytes.ContainsAny(t[len(t)-1:], ";{"):
			keys++
			if value := t[bytes.IndexByte(t, ':')+1:]; len(value) < 5 && bytes.ContainsAny(value, "|>") {
				block = in
			}
		case hasPrefix(t, "- ") || len(t) == 1 && t[0] == '-':
			items++
		default:
			if in == 0 || t[0] == '.' || codeEnd().Match(t) && t[len(t)-1] != ']' && t[len(t)-1] != '}' {
				odd++
			}
		}
	}
	switch {
	case keys == 0 || 10*odd > total, items == 0 && keys < 2, keys+items < 2:
		return ""
	case hasPrefix(s.lines[0], "---") || s.begins("%yaml"):
		return "YAML"
	}
	// Sentences have colons too, and words behind them.
	prose := s.count(sentence)
	if 3*prose > keys+items && items == 0 {
		return ""
	}
	return "YAML"
}

// sentence reports a line that starts with a capital and goes on in words.
func sentence(line []byte) bool {
	return len(line) > 40 && line[0] >= 'A' && line[0] <= 'Z' && bytes.Count(line, []byte(" ")) > 6 && !bytes.Contains(line, []byte(": \""))
}
