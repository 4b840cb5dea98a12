package digest

import (
	"bytes"

	"rlmproxy/pipeline/show"
)

// isSource wants definitions and imports at the margin, or blocks in braces on
// many lines. Code between the fences of Markdown does not count.
func isSource(s *sample) bool {
	if s.begins("<?php", "/*", "#!/", `"""`, `r"""`) {
		return true
	}
	var sure, braces, code, prose, total int
	first, fenced, block := false, false, false
	for _, line := range s.lines {
		t := bytes.TrimSpace(line)
		if hasAnyPrefix(t, fenceMarks) {
			fenced = !fenced
		}
		if len(t) == 0 || fenced || hasPrefix(t, "# ") {
			continue
		}
		total++
		defines := definitionOf(line)
		switch {
		case isImport(line, &block), defines.kind != "" && defines.column == 0:
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
	case 2*prose > total:
		return false
	case sure > 1 || first && total > 2:
		return 100*code >= 5*total
	}
	return total > 1 && 100*(sure+braces) >= 20*total && 100*code >= 60*total
}

// codeLine is a line that most languages could have.
var codeLine = lazy(`[;{}]\s*$|^\s*(//|/\*|\*/|\*( |$)|[})\]]+[;,)]*$|@\w+)|^\s*(if|for|while|else|elif|try|except|return|switch|case|end|fi|done)\b.*([:{;)]|then|do|\w)$|^\s*[\w.$]+\(.*\)[;,]?$`)

func isCode(line []byte) bool { return codeLine().Match(line) && !isSentence(line) }

// isSentence reports a line that starts with a capital and goes on in words.
func isSentence(line []byte) bool {
	return len(line) > 40 && isUpper(line[0]) && bytes.Count(line, []byte(" ")) > 6 && !isOneOf(lastByte(line), "{;") && !contains(line, `: "`)
}

// readSource outlines the definitions.
func readSource(d *Digest, r *reader) {
	o := outline{Part: Part{Title: "definitions", Even: true, Find: "proxy_search finds the rest"}}
	total, comments, imports := 0, 0, 0
	inComment, inImport := false, false
	var kinds tally
	for n, line := range r.lines {
		total++
		if isComment(line, &inComment) {
			comments += btoi(n == comments+imports)
		} else if isImport(line, &inImport) {
			imports += btoi(n == comments+imports)
		} else if found := definitionOf(line); found.kind != "" {
			o.enter(found)
			o.addLine(n, bytes.TrimRight(line, " \t{"), found.rank)
			kinds.add([]byte(found.kind), n)
		}
	}
	o.close()
	if dull := comments + imports; dull > 3 && dull < total {
		d.Dull = dull
	}
	for _, c := range kinds.order[:min(len(kinds.order), 8)] {
		d.factf("%s %s", c.name, show.Count(c.count))
	}
	d.Parts = append(d.Parts, o.Part)
	if len(o.Rows) == 0 {
		return
	}
	if name := definedName(o.Rows[len(o.Rows)/2].Text); name != "" {
		d.search(`\b`+name+`\b`, "context_lines", "3")
	}
	if n, lines := o.longest(total); lines > 3 {
		d.page(n, lines)
	}
}

// isComment follows comments over several lines.
func isComment(line []byte, open *bool) bool {
	t := bytes.TrimLeft(line, " \t")
	switch {
	case *open:
		*open = !contains(t, "*/")
		return true
	case hasPrefix(t, "/*"):
		*open = !contains(t[2:], "*/")
		return true
	}
	return len(t) == 0 || len(t) == 1 && isOneOf(t[0], "#*") || hasAnyPrefix(t, commentMarks)
}

var commentMarks = []string{"//", "# ", "#!", "##", "--", "* "}

// imports are begins of lines at the margin that only a program has.
var imports = lazy(`^(import .*[;'"({]$|import [\w.*]+( as \w+)?(, ?[\w.]+)*$|from [\w.]+ import [\w(*]|\} from ['"]|using [\w.:= ]+;|use [\w\\:{}*, ]+;|#include ["<]|#(ifn?def|if|pragma|define) ?\w|package [\w.]+;?$|['"]use strict['"]|require(_relative)? ?['"(]|(module\.)?exports\b.* = |export \{|@\w+(\.\w+)*(\(.*)?$|(const|let|var) .* = (require|await import)\()`)

// isImport reports a line of imports, over several lines while open.
func isImport(line []byte, open *bool) bool {
	if *open {
		*open = byteAt(line, 0) != ')' && !contains(line, "} from ")
		return true
	}
	if len(line) < 4 || !isOneOf(line[0], "ifu#pr}em@clv'\"") || !imports().Match(head(line, 200)) {
		return false
	}
	*open = isOneOf(lastByte(line), "({") && (hasPrefix(line, "import") || hasPrefix(line, "from "))
	return true
}

// An outline is the definitions of a program. What one at the margin holds is
// counted, as not all of it may be shown.
type outline struct {
	Part
	row   int // of the one at the margin that is open
	open  bool
	kinds tally // inside of it
}

// enter is called before a definition is added.
func (o *outline) enter(d definition) {
	if d.column > 1 {
		o.kinds.add([]byte(d.kind), 0)
		return
	}
	o.close()
	o.row, o.open, o.kinds = len(o.Rows), true, tally{}
}

// close tells what was inside, if it is much.
func (o *outline) close() {
	n := 0
	for _, c := range o.kinds.order {
		n += c.count
	}
	if o.open && n > 7 && o.row < len(o.Rows) {
		o.Rows[o.row].note = "  (" + o.kinds.top(4, ", ") + ")"
	}
	o.open = false
}

// longest is the longest stretch between two definitions on top that makes a good
// page, of as many lines as the text has.
func (o *outline) longest(total int) (n, lines int) {
	for i, r := range o.Rows {
		end := total
		for _, next := range o.Rows[i+1 : min(i+200, len(o.Rows))] {
			if next.Rank <= r.Rank {
				end = next.N
				break
			}
		}
		if size := end - r.N; r.Rank <= 3 && size > lines && size <= 200 {
			n, lines = r.N, size
		}
	}
	return n, lines
}
