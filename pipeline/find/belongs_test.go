package find

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/doctest"
	"rlmproxy/search"
)

const twoCommits = `commit 0123456789abcdef0123456789abcdef01234567
Author: Ann <ann@example.com>
Date:   Mon Jan 5 10:00:00 2026 +0100

    cache: evict per agent

    commit 99 of the message is none

diff --git a/cache/store.go b/cache/store.go
--- a/cache/store.go
+++ b/cache/store.go
@@ -1,2 +1,2 @@
-old needle
+new needle
--- x
diff --git a/README.md b/README.md
--- a/README.md
+++ b/README.md
@@ -1 +1 @@
+needle

commit fedcba9876543210fedcba9876543210fedcba98
Author: Bob <bob@example.com>
Date:   Sun Jan 4 10:00:00 2026 +0100

    docs: the needle
`

// TestHitsComeWith: what a hit belongs to once took a second call.
func TestHitsComeWith(t *testing.T) {
	const ann = "commit 0123456789ab · Ann <ann@example.com> · Mon Jan 5 10:00:00 2026 +0100 · cache: evict per agent\n"
	const bob = "commit fedcba987654 · Bob <bob@example.com> · Sun Jan 4 10:00:00 2026 +0100 · docs: the needle\n"
	commits := strings.Replace(twoCommits, twoCommits[strings.Index(twoCommits, "diff"):strings.Index(twoCommits, "commit fed")], "", 1)
	trace := "2026-01-02T03:04:05Z ERROR boom\n" + strings.Repeat("  at a.b(C.java:1)\n", 9) + "Caused by: io.Error: refused\n" + strings.Repeat("  at c.d(E.java:1)\n", 9) + strings.Repeat("2026-01-02T03:04:06Z INFO ok\n", 30)
	postgres := "2026-01-02 03:04:05 UTC [7] ERROR:  division by zero\n2026-01-02 03:04:05 UTC [7] STATEMENT:  SELECT 1/0\n" +
		strings.Repeat("2026-01-02 03:04:06 UTC [8] LOG:  ok\n", 9)
	words := strings.Repeat("words ", 300)
	large := `{"total":2,"items":[{"body":"` + words + `needle","node_id":"MDU","title":"A bug","id":7,"user":{"name":"ann"}},{"id":8}]}`
	for _, tt := range []struct {
		name     string
		s        Search
		in, want string // without the first line
	}{
		{"commits and files", Search{Pattern: "needle$"}, twoCommits,
			ann + "in cache/store.go\n13: -old needle\n14: +new needle\nin README.md\n20: +needle\n" + bob},
		{"the head of a commit", Search{Pattern: "^Author"}, twoCommits, ann + bob},
		{"lines that name files", Search{Pattern: "^diff"}, twoCommits, ann + "9: diff --git a/cache/store.go b/cache/store.go\n16: diff --git a/README.md b/README.md\n"},
		{"lines around", Search{Pattern: "new", ContextLines: 1}, twoCommits, ann + "in cache/store.go\n13- -old needle\n14: +new needle\n15- --- x\n"},
		{"by file", Search{Pattern: "needle", Mode: "paths"}, twoCommits, "2× cache/store.go, first line 13\n1× README.md, first line 20\n1× " + strings.TrimSpace(bob) + ", first line 26\n"},
		{"a diff alone", Search{Pattern: "new"}, twoCommits[strings.Index(twoCommits, "--- a/cache"):strings.Index(twoCommits, "diff --git a/README")], "in cache/store.go\n5: +new needle\n"},
		{"plain diffs", Search{Pattern: "needle"}, "--- a.go\n+++ a.go\n@@ -1 +1 @@\n-x\n+needle\n--- b.go\n+++ b.go\n@@ -1 +1 @@\n-needle\n+x\n", "in a.go\n5: +needle\nin b.go\n9: -needle\n"},
		{"a commit that ranks best", Search{Pattern: "gone", Mode: "bm25"}, strings.Replace(commits, "docs: the", "gone", 1), "lines 9–13 (score 0.33)\n" + strings.Replace(commits[strings.Index(commits, "commit fed"):], "docs: the", "gone", 1)},
		{"an entry, bounded", Search{Pattern: "boom"}, trace, "1: 2026-01-02T03:04:05Z ERROR boom\n" +
			"2-   at a.b(C.java:1)\n3-   at a.b(C.java:1)\n4-   at a.b(C.java:1)\n5-   at a.b(C.java:1)\n6-   at a.b(C.java:1)\n… 14 lines more …\n"},
		{"the head of an entry", Search{Pattern: "refused"}, trace, "1- 2026-01-02T03:04:05Z ERROR boom\n11: Caused by: io.Error: refused\n" +
			"12-   at c.d(E.java:1)\n13-   at c.d(E.java:1)\n14-   at c.d(E.java:1)\n15-   at c.d(E.java:1)\n16-   at c.d(E.java:1)\n… 4 lines more …\n"},
		{"a statement", Search{Pattern: "division"}, postgres, "1: " + strings.Replace(postgres[:strings.Index(postgres, "2026-01-02 03:04:06")], "\n", "\n2- ", 1)},
		{"a row", Search{Pattern: "bob"}, "id,name\n1,ann\n2,bob\n3,cid\n4,dan\n", "columns: id,name\n3: 2,bob\n"},
		{"what identifies a record", Search{Pattern: "needle|ann"}, large,
			"items[0], 1,878 bytes: {\"id\":7,\"title\":\"A bug\",…}\n  .body: …" + words[len(words)-233:] + "needle\"\n  .user.name: \"ann\"\n"},
		{"a key", Search{Pattern: "user"}, large, "items[0], 1,878 bytes: {\"id\":7,\"title\":\"A bug\",…}\n  .user: {…\n"},
		{"the innermost object", Search{Pattern: "y"}, `{"a":{"b":{"x":1,"c":"y"}},"d":2}`, "a.b (.c): {\"x\":1,\"c\":\"y\"}\n"},
		{"no object", Search{Pattern: "2"}, `[1,[2,3]]`, "[1][0]: 2\n"},
		{"JSON Lines", Search{Pattern: "y"}, "{\"a\":\"x\"}\n{\"a\":\"y\",\"b\":1}\n", "[1] (.a): {\"a\":\"y\",\"b\":1}\n"},
	} {
		got := string(doctest.Apply(t, &tt.s, tt.in).Data)
		_, got, _ = strings.Cut(got, "\n")
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s:\n%s", tt.name, d)
		}
	}
}

// TestWindows: a match stands in the middle, and both its ends are there.
func TestWindows(t *testing.T) {
	line := strings.Repeat("a", 500) + "<" + strings.Repeat("m", 300) + ">" + strings.Repeat("b", 500)
	for _, tt := range []struct{ from, to, before, after int }{
		{500, 501, 119, 120}, {0, 1, 0, 239}, {len(line) - 1, len(line), 239, 0}, {500, 802, 40, 40},
	} {
		got := window([]byte(line), search.Span{End: len(line)}, search.Span{Start: tt.from, End: tt.to})
		if i := strings.Index(got, line[tt.from:tt.from+1]); !strings.Contains(got, line[tt.from-tt.before:tt.from+1]) || !strings.Contains(got, line[tt.to-1:tt.to+tt.after]) || len(got) > 260 || i < 0 {
			t.Errorf("%d–%d: %s", tt.from, tt.to, got)
		}
	}
}

// TestRecordsHold: each hit is in the record that stands for it, and replies are bounded.
func TestRecordsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := doc.Recognise(doctest.GenDoc().Draw(t, "doc"), nil)
		s := Search{Pattern: rapid.SampledFrom([]string{".", `9007199254740993|1e400|-0`, `"`, `\[|\{`, "a|e"}).Draw(t, "pattern"),
			Mode: rapid.SampledFrom([]string{"regex", "context", "paths", "fuzzy"}).Draw(t, "mode"), Offset: rapid.IntRange(0, 3).Draw(t, "offset")}
		if s.Mode == "fuzzy" {
			s.Pattern = "name"
		}
		out, err := s.Apply(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		if out.Items > out.Total || len(out.Data) > 40*(maxRecord+1000) {
			t.Fatalf("%d of %d, %d bytes", out.Items, out.Total, len(out.Data))
		}
		w, err := viewOf(context.Background(), in)
		if err != nil || !w.isJSON {
			return
		}
		m, err := search.Regex(context.Background(), w.text, ".", search.RegexOptions{Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		tick := doc.Ticker{Ctx: context.Background()}
		visitPlaces(w.text, m.Hits, w.many, func(i int, p place) bool {
			r, err := w.recordOf(&tick, p, "", map[int]*record{})
			if at := m.Hits[i].Start; err != nil || r != nil && (at < r.span.Start || at >= r.span.End) {
				t.Fatalf("%s is not in %+v, %v", p.path, r, err)
			}
			return true
		})
	})
}

// TestHistoryIsOnePass: hits far from any commit once would read the text anew each.
func TestHistoryIsOnePass(t *testing.T) {
	text := twoCommits + strings.Repeat("+ a needle\n", 50_000)
	got := doctest.Apply(t, &Search{Pattern: "needle", MaxResults: 10_000}, text)
	if got.Items != 10_000 {
		t.Errorf("%d hits", got.Items)
	}
	if got = doctest.Apply(t, &Search{Pattern: "needle", Mode: "bm25", MaxResults: 10_000}, text); got.Items == 0 {
		t.Errorf("%d hits", got.Items)
	}
}

// TestSearchFits: of a reply that would be too long fewer hits are shown, and the next
// offset is that of the first that is not.
func TestSearchFits(t *testing.T) {
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, "a line with the number %d\n", i)
	}
	for _, mode := range []string{"regex", "fuzzy", "bm25"} {
		read := 0
		for offset, pages := 0, 0; ; pages++ {
			s := Search{Pattern: "number", Mode: mode, MaxResults: 300, Offset: offset, Fits: func(answer []byte) bool { return len(answer) < 4000 }}
			out := doctest.Apply(t, &s, b.String())
			head, _, _ := strings.Cut(string(out.Data), "\n")
			read += out.Items
			_, next, more := strings.Cut(head, " · next offset ")
			if !more {
				if read != out.Total || pages < 2 {
					t.Errorf("%s: %d of %d in %d pages", mode, read, out.Total, pages)
				}
				break
			}
			if len(out.Data) >= 4000 || fmt.Sprint(offset+out.Items) != next {
				t.Fatalf("%s: %s, %d hits, %d bytes", mode, head, out.Items, len(out.Data))
			}
			offset += out.Items
		}
	}
}
