package digest

import (
	"bytes"

	"rlmproxy/pipeline/show"
)

// addHeading adds a heading, with the texts of its links instead of the links.
func addHeading(p *Part, n int, line []byte, rank int) {
	line = bytes.TrimRight(line, "\r\n")
	if len(p.Rows) < maxRows && len(line) < 1000 {
		if plain := withoutLinks(line); len(plain) < len(line) {
			p.addf(n, rank, "%s", show.Clip(string(plain), maxRowRunes))
			return
		}
	}
	p.addLine(n, line, rank)
}

// withoutLinks has the text instead of [text](address), and of an image what
// it shows. What is between backquotes stays.
func withoutLinks(line []byte) []byte {
	if !bytes.Contains(line, []byte("](")) {
		return line
	}
	var out []byte
	var open []int // where brackets opened in out
	code := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '`':
			code = !code
		case code:
		case c == '\\' && i+1 < len(line):
			i++
			out = append(out, c)
			c = line[i]
		case c == '[':
			open = append(open, len(out))
		case c == ']' && len(open) > 0:
			start := open[len(open)-1]
			open = open[:len(open)-1]
			if end := addressEnd(line, i+1); end > 0 {
				text := out[start+1:]
				if start > 0 && out[start-1] == '!' {
					start--
				}
				out = append(out[:start], text...)
				i = end - 1
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// addressEnd returns the offset behind the (address) at i, which is not long,
// or 0.
func addressEnd(line []byte, i int) int {
	if !at(line, i, "(") {
		return 0
	}
	depth := 0
	for line = line[:min(len(line), i+300)]; i < len(line); i++ {
		switch line[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

const (
	// manyHeadings down to one level are more than an outline shows.
	manyHeadings = 24

	// leadHeadings of that level are shown before others.
	leadHeadings = 8
)

// firstOnesFirst ranks the first headings of the level that has too many for all
// to be shown before the others of that level. What is so long is a changelog, or
// a list of another kind, and begins with what is new or matters most.
func firstOnesFirst(rows []Row) {
	var counts [6]int
	for _, r := range rows {
		counts[min(r.Rank, 5)]++
	}
	level, sum := 0, 0
	for ; level < len(counts); level++ {
		if sum += counts[level]; sum > manyHeadings {
			break
		}
	}
	lead := 0
	for i := range rows {
		r := &rows[i]
		if r.Rank == level && lead < leadHeadings {
			lead++
		} else if r.Rank >= level {
			r.Rank++
		}
	}
}
