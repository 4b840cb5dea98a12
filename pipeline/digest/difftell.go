package digest

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"rlmproxy/pipeline/show"
)

// tell lists the files, those with most changes first if not all fit, and
// their first lines.
func (r *diffReader) tell(d *Digest) {
	byChurn := slices.Clone(r.files)
	slices.SortStableFunc(byChurn, func(a, b *fileDiff) int { return cmp.Compare(b.add+b.del, a.add+a.del) })
	rank := make(map[*fileDiff]int, len(byChurn))
	for i, f := range byChurn {
		rank[f] = i / 4
	}
	p := Part{Title: "files, each with its line", Total: r.more, Find: "the largest"}
	for _, f := range r.files {
		how := ""
		if f.how != "" {
			how = " (" + show.Clip(f.how, 80) + ")"
		}
		p.addf(f.at, rank[f], "+%s −%s %s%s", show.Count(f.add), show.Count(f.del), show.Clip(f.name(), 120), how)
	}
	if r.commits > 1 {
		d.Parts = append(d.Parts, r.subjects)
	}
	d.Parts = append(d.Parts, p)
	// Of a new file, the first lines are its imports.
	for _, added := range []bool{false, true} {
		for i, f := range byChurn {
			if i < 20 && (f.how == "new") == added {
				d.Picks = append(d.Picks, f.head...)
			}
		}
	}
	if len(byChurn) == 0 {
		return
	}
	big := byChurn[0]
	if big.hunk >= 0 {
		d.page(big.hunk, min(max(big.largest+8, 20), 80))
	}
	// The head of a file is found by its name.
	if name := big.name(); len(byChurn) > 1 && len(name) < 120 && isPrintable(name) {
		head := `^diff .*`
		switch name {
		case big.git:
		case big.new:
			head = `^\+\+\+ .*`
		default:
			head = `^--- .*`
		}
		d.search(head+regexp.QuoteMeta(name), "context_lines", "20")
	}
}

// digestGitLog lists commits by their subjects.
func digestGitLog(d *Digest, data []byte, t *ticker) error {
	p := Part{Title: "subjects", Even: true, Find: "proxy_search finds the rest"}
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
			p.add(Row{Line: Line{n, bytes.TrimSpace(line)}})
			want = false
		}
		n++
	}
	d.Facts = append(d.Facts, show.Plural(commits, "commits"))
	if first != "" {
		d.say("dates: %s .. %s", first, last)
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(authors[b], authors[a]) })
	for i, name := range order {
		if order[i] = fmt.Sprintf("%s %s", show.Clip(name, 40), show.Count(authors[name])); i == 8 {
			order = append(order[:i], fmt.Sprintf("… %s more", show.Count(len(order)-i)))
			break
		}
	}
	if len(order) > 0 {
		d.say("authors: %s", strings.Join(order, ", "))
	}
	d.Parts = append(d.Parts, p)
	return nil
}
