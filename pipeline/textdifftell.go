package pipeline

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// tell lists the files, those with most changes first if not all fit, and
// their first lines.
func (r *diffReader) tell(d *digest) {
	byChurn := slices.Clone(r.files)
	slices.SortStableFunc(byChurn, func(a, b *fileDiff) int { return cmp.Compare(b.add+b.del, a.add+a.del) })
	rank := make(map[*fileDiff]int, len(byChurn))
	for i, f := range byChurn {
		rank[f] = i / 4
	}
	p := part{title: "files, each with its line", total: r.more, find: "the largest"}
	for _, f := range r.files {
		how := ""
		if f.how != "" {
			how = " (" + clip(f.how, 80) + ")"
		}
		p.addf(f.at, rank[f], "+%s −%s %s%s", Comma(f.add), Comma(f.del), clip(f.name(), 120), how)
	}
	if r.commits > 1 {
		d.parts = append(d.parts, r.subjects)
	}
	d.parts = append(d.parts, p)
	// Of a new file, the first lines are its imports.
	for _, added := range []bool{false, true} {
		for i, f := range byChurn {
			if i < 20 && (f.how == "new") == added {
				d.picks = append(d.picks, f.head...)
			}
		}
	}
	if len(byChurn) == 0 {
		return
	}
	big := byChurn[0]
	if big.hunk >= 0 {
		d.calls = append(d.calls, []string{"proxy_filter", "offset", strconv.Itoa(big.hunk), "limit", strconv.Itoa(min(max(big.largest+8, 20), 80))})
	}
	// The head of a file is found by its name.
	if name := big.name(); len(byChurn) > 1 && len(name) < 120 && isPrintable(name) {
		d.calls = append(d.calls, []string{"proxy_search", "pattern", quoted(`^diff .*` + regexp.QuoteMeta(name)), "context_lines", "20"})
		if !r.git {
			d.calls[len(d.calls)-1][2] = quoted(`^\+\+\+ .*` + regexp.QuoteMeta(name))
		}
	}
}

func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s != ""
}

// digestGitLog lists commits by their subjects.
func digestGitLog(d *digest, data []byte, t *ticker) error {
	p := part{title: "subjects", even: true, find: "proxy_search finds the rest"}
	authors := map[string]int{}
	var order []string
	var first, last string
	commits, n, want := 0, 0, false
	for line := range bytes.Lines(data) {
		if err := t.err(); err != nil {
			return err
		}
		switch {
		case isCommit(line):
			commits++
			want = true
		case hasPrefix(line, "Author: "):
			name, _, _ := strings.Cut(string(bytes.TrimSpace(line[8:min(len(line), 200)])), " <")
			if _, known := authors[name]; known || len(order) < 1000 {
				if authors[name]++; !known {
					order = append(order, name)
				}
			}
		case hasPrefix(line, "Date: "):
			if last = string(bytes.TrimSpace(line[6:min(len(line), 100)])); first == "" {
				first = last
			}
		case want && hasPrefix(line, "    ") && len(bytes.TrimSpace(line)) > 0:
			p.add(row{numLine: numLine{n, bytes.TrimSpace(line)}})
			want = false
		}
		n++
	}
	d.facts = append(d.facts, plural(commits, "commits"))
	if first != "" {
		d.say("dates: %s .. %s", first, last)
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(authors[b], authors[a]) })
	for i, name := range order {
		if order[i] = fmt.Sprintf("%s %s", clip(name, 40), Comma(authors[name])); i == 8 {
			order = append(order[:i], fmt.Sprintf("… %s more", Comma(len(order)-i)))
			break
		}
	}
	if len(order) > 0 {
		d.say("authors: %s", strings.Join(order, ", "))
	}
	d.parts = append(d.parts, p)
	return nil
}
