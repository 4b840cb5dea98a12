package digest

import (
	"bytes"

	"rlmproxy/pipeline/show"
)

var (
	match       = lazy(`^[^\s:]*[/.][^\s:]*:\d+(:\d+)?(:|-| )`)
	besideMatch = lazy(`^[^\s:]*[/.][^\s:]*-\d+(-|$)`) // a line beside a match
)

// isMatches wants what grep and compilers print: file, line, text.
func isMatches(s *sample) bool {
	n := s.count(match().Match)
	beside := s.count(func(line []byte) bool {
		return string(line) == "--" || besideMatch().Match(line) && !match().Match(line)
	})
	return n > 1 && s.most(n+beside, 60+30*btoi(beside > n)) && 20*n >= beside
}

// readMatches counts what was found by file, and shows the first of each.
func readMatches(d *Digest, r *reader) {
	var files tally
	first := Part{Title: "first matches, one of each file", Share: 45, Even: true}
	n := 0
	for at, line := range r.lines {
		if name, rest, _ := bytes.Cut(head(line, 1000), []byte(":")); digitsAt(rest, 0) > 0 {
			if n++; files.add(name, at) == 1 {
				first.addLine(at, line, 0)
			}
		}
	}
	d.Facts = append(d.Facts, show.Plural(n, "matches"), show.Plural(len(files.order), "files"))
	d.Parts = append(d.Parts, files.part("files"), first)
}
