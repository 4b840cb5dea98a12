package digest

import (
	"bytes"

	"rlmproxy/pipeline/show"
)

// imports are begins of lines at the margin that only a program has.
var imports = lazy(`^(import .*[;'"({]$|import [\w.*]+( as \w+)?(, ?[\w.]+)*$|from [\w.]+ import [\w(*]|\} from ['"]|using [\w.:= ]+;|use [\w\\:{}*, ]+;|#include ["<]|#(ifn?def|if|pragma|define) ?\w|package [\w.]+;?$|['"]use strict['"]|require(_relative)? ?['"(]|(module\.)?exports\b.* = |export \{|@\w+(\.\w+)*(\(.*)?$|(const|let|var) .* = (require|await import)\()`)

// codeLine is a line that most languages could have.
var codeLine = lazy(`[;{}]\s*$|^\s*(//|/\*|\*/|\*( |$)|[})\]]+[;,)]*$|@\w+)|^\s*(if|for|while|else|elif|try|except|return|switch|case|end|fi|done)\b.*([:{;)]|then|do|\w)$|^\s*[\w.$]+\(.*\)[;,]?$`)

func isCode(line []byte) bool { return codeLine().Match(line) && !isSentence(line) }

// isSentence reports a line that starts with a capital and goes on in words.
func isSentence(line []byte) bool {
	return len(line) > 40 && isUpper(line[0]) && bytes.Count(line, []byte(" ")) > 6 && !isOneOf(lastByte(line), "{;") && !contains(line, `: "`)
}

// isSource wants definitions and imports at the margin, or blocks in braces on
// many lines. Code between the fences of Markdown does not count.
func isSource(s *sample) bool {
	if s.begins("<?php", "/*", "#!/", `"""`, `r"""`) {
		return true
	}
	var sure, braces, code, prose, total, fences, headings int
	first, fenced := false, false
	for _, line := range s.lines {
		t := bytes.TrimSpace(line)
		if isFence(t) {
			fenced = !fenced
			fences++
		}
		headings += btoi(!fenced && heading().Match(line))
		if len(t) == 0 || fenced || hasPrefix(t, "# ") {
			continue
		}
		total++
		defines := definitionOf(line)
		switch {
		case defines.kind != "" && defines.column == 0, imports().Match(line):
			sure++
			first = first || total == 1
		case isOneOf(lastByte(t), "{}") || isOneOf(t[0], "})"):
			braces++
		case defines.kind != "" || isCode(line):
			code++
		case isSentence(line):
			prose++
		}
	}
	code += sure + braces
	switch {
	case 2*prose > total, fences > 1 && headings > 0:
		return false
	case sure > 1 || first && total > 2:
		return 100*code >= 5*total
	}
	return total > 1 && 100*(sure+braces) >= 20*total && 100*code >= 60*total
}

// maxPreamble lines above the first definition are taken for a licence and
// imports. More are those of a script.
const maxPreamble = 60

// readSource outlines the definitions.
func readSource(d *Digest, r *reader) {
	p := Part{Title: "definitions", Even: true}
	var kinds tally
	for n, line := range r.lines {
		if found := definitionOf(line); found.kind != "" {
			p.addLine(n, bytes.TrimRight(line, " \t{"), found.rank)
			kinds.add([]byte(found.kind), n)
		}
	}
	if len(p.Rows) > 0 && p.Rows[0].N <= maxPreamble {
		d.Preamble = p.Rows[0].N
	}
	for _, c := range kinds.order[:min(len(kinds.order), 8)] {
		d.factf("%s %s", c.name, show.Count(c.count))
	}
	d.Parts = append(d.Parts, p)
}
