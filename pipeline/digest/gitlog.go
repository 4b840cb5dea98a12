package digest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"rlmproxy/pipeline/digest/git"
	"rlmproxy/pipeline/show"
)

// isGitLog wants a commit on the first line and who made it below.
func isGitLog(s *sample) bool {
	return len(s.lines) > 1 && git.IsCommit(s.lines[0]) && (hasPrefix(s.lines[1], "Author: ") || hasPrefix(s.lines[1], "Merge: ")) || isOneline(s)
}

// onelineAt returns the hash and the subject of a line of git log --oneline, with a graph
// or without.
func onelineAt(line []byte) (hash, subject []byte) {
	rest := bytes.TrimLeft(line, `*|/\_ `)
	n := git.HashLen(rest)
	if n < 7 || n > 40 || byteAt(rest, n) != ' ' || bytes.IndexFunc(rest[:n], func(r rune) bool { return r <= '9' }) < 0 {
		return nil, nil
	}
	return rest[:n], rest[n+1:]
}

func isOneline(s *sample) bool {
	n := s.count(func(line []byte) bool {
		hash, subject := onelineAt(line)
		return len(subject) > 0 || hash == nil && len(bytes.Trim(line, `*|/\_ -.`)) == 0 && notBlank(line)
	})
	if n < 4 || !s.most(n, 95) {
		return false
	}
	hash, _ := onelineAt(s.lines[0])
	return hash != nil
}

// A logOfCommits gathers who made commits, when, and what they say.
type logOfCommits struct {
	commits     int
	authors     tally
	areas       tally // what subjects begin with, up to a colon
	stat        tally // files, from --stat
	first, last string
	subjects    Part

	hash, date string
	add, del   int
}

func newLogOfCommits() logOfCommits {
	return logOfCommits{subjects: Part{Title: "commits", Share: 45, Even: true}}
}

// readGitLog reads commits with what may stand below each.
func readGitLog(d *Digest, r *reader) {
	if !isOneline(newSample(r.data)) {
		readDiff(d, r)
		return
	}
	l := newLogOfCommits()
	l.subjects.Share = 60
	for n, line := range r.lines {
		if hash, subject := onelineAt(line); hash != nil {
			l.commits++
			l.hash = string(hash)
			l.title(n, subject)
		}
	}
	l.describe(d)
}

// commit begins a commit with its line.
func (l *logOfCommits) commit(line, hash []byte) {
	word, _, _ := bytes.Cut(line, []byte(" "))
	l.subjects.Find = fmt.Sprintf(`proxy_search "^%s " finds them`, word)
	l.hash, l.date = string(head(hash, 8)), ""
	l.commits++
}

func (l *logOfCommits) dated(date []byte) {
	l.date = shortDate(date)
	if l.last = l.date; l.first == "" {
		l.first = l.date
	}
}

// total reads "2 files changed, 5 insertions(+), 1 deletion(-)".
func (l *logOfCommits) total(line []byte) {
	for part := range bytes.SplitSeq(line, []byte(", ")) {
		switch n, _ := strconv.Atoi(string(part[:digitsAt(part, 0)])); {
		case contains(part, "(+)"):
			l.add += n
		case contains(part, "(-)"):
			l.del += n
		}
	}
}

// shortDate is 2026-11-21 or 21 Nov 2026 of "Sat Nov 21 07:58:34 2026 +0000".
func shortDate(date []byte) string {
	if f := strings.Fields(string(date)); len(f) >= 5 && len(f[1]) == 3 && len(f[4]) == 4 {
		return f[2] + " " + f[1] + " " + f[4]
	}
	return string(head(date, 16))
}

func span(first, last string) string {
	if first == last {
		return first
	}
	return first + " .. " + last
}

func (l *logOfCommits) title(n int, subject []byte) {
	if area, _, ok := bytes.Cut(head(subject, 40), []byte(": ")); ok && len(area) > 0 {
		l.areas.add(area, n)
	}
	l.subjects.addf(n, 0, "%s", show.Clip(strings.TrimSpace(l.hash+" "+l.date+"  "+string(subject)), maxRowRunes+20))
}

func (l *logOfCommits) describe(d *Digest) {
	if l.commits > 0 {
		d.Facts = append(d.Facts, show.Plural(l.commits, "commits"))
	}
	if l.add+l.del > 0 {
		d.factf("+%s −%s", show.Count(l.add), show.Count(l.del))
	}
	if len(l.authors.order) > 0 {
		d.addWords("authors: %s", l.authors.top(8, ", "))
	}
	if l.first != "" && l.commits > 1 {
		d.addWords("dates: %s", span(l.last, l.first))
	}
	if len(l.areas.order) > 1 && l.commits > 5 {
		d.addWords("subjects begin with: %s", l.areas.list(12))
	}
	if len(l.stat.order) > 0 {
		p := l.stat.part("files changed")
		p.Share, p.Most = 25, 15
		d.Parts = append(d.Parts, p)
	}
	if l.commits > 1 {
		d.Parts = append(d.Parts, l.subjects)
	}
}

var blameLine = lazy(`^\^?([0-9a-f]{7,40}) (?:[^(]* )?\((.{1,80}?) +(\d{4}-\d\d-\d\d)[ T][\d:]{5,8} [+-]\d{4} +\d+\)`)

// isBlame wants the commit, its author and date before each line.
func isBlame(s *sample) bool {
	n := s.count(blameLine().Match)
	return n > 1 && s.most(n, 95)
}

// readBlame counts lines by commit and by author.
func readBlame(d *Digest, r *reader) {
	var commits, authors tally
	first, last := "9", ""
	for n, line := range r.lines {
		m := blameLine().FindSubmatch(head(line, 400))
		if m == nil {
			continue
		}
		date := string(m[3])
		first, last = min(first, date), max(last, date)
		authors.add(m[2], n)
		commits.add(fmt.Appendf(nil, "%s %s %s", m[1], date, m[2]), n)
	}
	d.Facts = append(d.Facts, show.Plural(len(commits.order), "commits"))
	d.addWords("authors, by lines: %s", authors.top(8, ", "))
	d.addWords("dates: %s", span(first, last))
	p := commits.part("commits, by lines")
	p.Most = 20
	d.Parts = append(d.Parts, p)
}
