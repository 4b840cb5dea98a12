package find

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/doctest"
	"rlmproxy/pipeline/locate"
	"rlmproxy/search"
)

func TestSearch(t *testing.T) {
	const log = "start\nERROR one\nok\nok\nok\nerror two\nend\n"
	const input = `{"items":[{"user":{"name":"ann"},"tags":["x","y"]},{"user":{"name":"bob"},"tags":[]}]}`
	const prose = "# One\n\nThe cat sat.\nIt purred.\n\n# Two\n\nThe dog ran.\n"
	for _, tt := range []struct {
		s            Search
		in, want     string
		shown, total int
	}{
		{Search{Pattern: "error", CaseInsensitive: true}, log, "2 matches on 2 lines, 2 shown\n2: ERROR one\n6: error two\n", 2, 2},
		{Search{Pattern: "error", CaseInsensitive: true, ContextLines: 1}, log,
			"2 matches on 2 lines, 2 shown\n1- start\n2: ERROR one\n3- ok\n--\n5- ok\n6: error two\n7- end\n", 2, 2},
		{Search{Pattern: "ok", MaxResults: 1}, log, "3 matches on 3 lines, 1 shown · next offset 1\n3: ok\n", 1, 3},
		{Search{Pattern: "ok", MaxResults: 1, Offset: 1}, log, "3 matches on 3 lines, 1 shown from offset 1 · next offset 2\n4: ok\n", 1, 3},
		{Search{Pattern: "ok", Offset: 2}, log, "3 matches on 3 lines, 1 shown from offset 2\n5: ok\n", 1, 3},
		{Search{Pattern: "ok", Offset: 3}, log, "3 matches on 3 lines, 0 shown from offset 3\n", 0, 3},
		{Search{Pattern: "ok", TopK: 2}, log, "3 matches on 3 lines, 2 shown · next offset 2\n3: ok\n4: ok\n", 2, 3},
		{Search{Pattern: "ok|end", Mode: "paths"}, log, "4 matches on 4 lines in 2 places, 2 shown\nlines 3–5, 7", 2, 2},
		{Search{Pattern: "ann|y|bob", Mode: "paths"}, input, "3 matches in 2 paths, 2 shown\n2× items[].user.name, first items[0].user.name\n1× items[].tags[], first items[0].tags[1]\n", 2, 2},
		{Search{Pattern: "a|o", Mode: "paths", MaxResults: 1}, input, "6 matches in 2 paths, 1 shown · next offset 1\n4× items[].user.name, first items[0].user.name\n", 1, 2},
		{Search{Pattern: "purred", ContextType: "section"}, prose, "1 match on 1 line, 1 shown\n1- # One\n2- \n3- The cat sat.\n4: It purred.\n", 1, 1},
		{Search{Pattern: "dog", ContextType: "paragraph", ContextLines: 1}, prose, "1 match on 1 line, 1 shown\n7- \n8: The dog ran.\n", 1, 1},
		{Search{Pattern: "bob", ContextLines: 1}, input, "1 match, 1 shown\n-       \"user\": {\n:         \"name\": \"bob\"  (items[1].user.name)\n-       },\n", 1, 1},
		{Search{Pattern: "ann|y"}, input, "2 matches, 2 shown\nitems[0] (.user.name, .tags[1]): {\"user\":{\"name\":\"ann\"},\"tags\":[\"x\",\"y\"]}\n", 2, 2},
		{Search{Pattern: "bob"}, "{\"n\":\"ann\"}\n{\"n\":\"bob\"}\n", "1 match, 1 shown\n[1] (.n): {\"n\":\"bob\"}\n", 1, 1},
		{Search{Pattern: "two"}, `"one\ntwo\nthree"`, "1 match on 1 line, 1 shown\n2: two\n", 1, 1},
		{Search{Pattern: "purrd", Mode: "fuzzy"}, prose, "1 match by similarity, 1 shown\n0.80 4: It purred.\n", 1, 1},
		{Search{Pattern: "purrd", Threshold: 0.75}, prose, "1 match by similarity, 1 shown\n0.80 4: It purred.\n", 1, 1},
		{Search{Pattern: "purred", Mode: "context"}, prose, "1 match on 1 line, 1 shown\n3- The cat sat.\n4: It purred.\n", 1, 1},
		{Search{Pattern: "dog", Mode: "context", ContextLines: 2}, prose, "1 match on 1 line, 1 shown\n6- # Two\n7- \n8: The dog ran.\n", 1, 1},
		{Search{Pattern: "purred", Mode: "context", ContextType: "section"}, prose, "1 match on 1 line, 1 shown\n1- # One\n2- \n3- The cat sat.\n4: It purred.\n", 1, 1},
		{Search{Pattern: "purrd"}, prose, "0 matches for \"purrd\" in 52 bytes\nnearest: \"purred\"\n", 0, 0},
		{Search{Pattern: "zzzz"}, log, "0 matches for \"zzzz\" in 39 bytes\ntry \"case_insensitive\":true, or \"mode\":\"bm25\" with several words\n", 0, 0},
		{Search{Pattern: "a"}, "", "0 matches for \"a\" in 0 bytes\ntry \"case_insensitive\":true, or \"mode\":\"bm25\" with several words\n", 0, 0},
	} {
		got := doctest.Apply(t, &tt.s, tt.in)
		if d := cmp.Diff(tt.want, string(got.Data)); d != "" || got.Items != tt.shown || got.Total != tt.total {
			t.Errorf("%s: %d of %d\n%s", &tt.s, got.Items, got.Total, d)
		}
	}
}

func TestSearchRanked(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"total":30,"items":[`)
	for i := range 30 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id": %d, "title": "issue about %s"}`, i, []string{"parsing", "network timeouts", "colours"}[i%3])
	}
	b.WriteString(`]}`)
	got := doctest.Apply(t, &Search{Mode: "bm25", Pattern: "network timeout", TopK: 2}, b.String())
	lines := strings.Split(string(got.Data), "\n")
	if lines[0] != `best 2 of 10 records for "network timeout" · next offset 2` || !strings.HasPrefix(lines[1], "items[1] (score ") ||
		!strings.HasSuffix(lines[1], `: {"id":1,"title":"issue about network timeouts"}`) || !strings.HasPrefix(lines[3], "items[4] ") {
		t.Errorf("got\n%s", got.Data)
	}
	got = doctest.Apply(t, &Search{Mode: "bm25", Pattern: "dog"}, "The cat.\n\nThe dog ran.\n")
	if !strings.Contains(string(got.Data), "The dog ran.") {
		t.Errorf("got\n%s", got.Data)
	}
	got = doctest.Apply(t, &Search{Mode: "bm25", Pattern: "b"}, "{\"x\":\"a\"}\n\n{\"x\":\"b\"}\n")
	if !strings.Contains(string(got.Data), "[1] (score") {
		t.Errorf("got\n%s", got.Data)
	}
}

func TestSearchErrors(t *testing.T) {
	for _, tt := range []struct {
		s    Search
		code string
	}{
		{Search{}, doc.BadArguments},
		{Search{Pattern: "a", Mode: "grep"}, doc.BadArguments},
		{Search{Pattern: "a", MaxResults: -1}, doc.BadArguments},
		{Search{Pattern: "a", ContextLines: 1 << 40}, doc.BadArguments},
		{Search{Pattern: "a", Mode: "context", ContextType: "page"}, doc.BadArguments},
		{Search{Pattern: "a", Mode: "fuzzy", Threshold: 2}, doc.BadArguments},
		{Search{Pattern: "a", Mode: "regex", Threshold: 0.5}, doc.BadArguments},
		{Search{Pattern: "a", Mode: "bm25", ContextType: "section"}, doc.BadArguments},
		{Search{Pattern: "a", Mode: "paths", ContextLines: 1}, doc.BadArguments},
		{Search{Pattern: "a", Offset: 1 << 20}, doc.BadArguments},
		{Search{Pattern: "...", Mode: "fuzzy"}, doc.BadPattern},
		{Search{Pattern: "(a"}, doc.BadPattern},
		{Search{Pattern: "(?=a)"}, doc.BadPattern},
		{Search{Pattern: strings.Repeat("a", 1<<20)}, doc.BadPattern},
	} {
		if e := doctest.ApplyError(t, &tt.s, "text"); e.Code != tt.code || len(e.Error()) > 1000 {
			t.Errorf("%s: %s: %v", &tt.s, e.Code, e)
		}
	}
}

func TestSearchLongLine(t *testing.T) {
	text := strings.Repeat("ä", 100_000) + "needle" + strings.Repeat("ö", 100_000)
	got := doctest.Apply(t, &Search{Pattern: "needle"}, text)
	if !strings.Contains(string(got.Data), "äneedleö") || len(got.Data) > 1000 {
		t.Errorf("%d bytes: %.300s", len(got.Data), got.Data)
	}
}

// TestSearchLongLineShowsAll: of ten matches on a minified line the first was
// printed, and ten were said to be shown.
func TestSearchLongLineShowsAll(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "function f%d(a){return %dé}", i, i)
	}
	for _, s := range []Search{
		{Pattern: "f2[0-9]77\\("},
		{Pattern: "f2[0-9]77\\(", Mode: "context"},
		{Pattern: "f2[0-9]77\\(", MaxResults: 4},
		{Pattern: "return 12(34|35|9[0-9])é"},
		{Pattern: "f2277", Mode: "fuzzy", Threshold: 0.9},
	} {
		got := string(doctest.Apply(t, &s, b.String()).Data)
		head, body, _ := strings.Cut(got, "\n")
		var shown int
		if _, err := fmt.Sscan(head[strings.LastIndex(head, ", ")+2:], &shown); err != nil || shown == 0 {
			t.Fatalf("%s: first line %q", &s, head)
		}
		pattern := s.Pattern
		if n := len(regexp.MustCompile(pattern).FindAllString(body, -1)); n != shown || len(body) > 400+150*shown {
			t.Errorf("%s: %d of %d are there\n%s", &s, n, shown, got)
		}
	}
}

// TestHitPaths looks every path up again: the value there is the one that
// the hit is in.
func TestHitPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := doc.Recognise(doctest.GenDoc().Draw(t, "doc"), nil)
		view, err := viewOf(context.Background(), v)
		if err != nil || !view.isJSON {
			t.Skip(err)
		}
		m, err := search.Regex(context.Background(), view.text, `9007199254740993|1e400|-0`, search.RegexOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var starts []int
		for _, h := range m.Hits {
			starts = append(starts, h.Start)
		}
		for i, path := range pathsAt(view.text, starts, view.many) {
			at, err := locate.Find(context.Background(), v, path)
			if err != nil {
				t.Fatalf("%s: %v in\n%s", path, err, view.text)
			}
			hit := string(view.text[m.Hits[i].Start:m.Hits[i].End])
			if !strings.Contains(string(at.Data), hit) && !strings.Contains(path.String(), hit) {
				t.Fatalf("%s is %s, want %s", path, at.Data, hit)
			}
		}
	})
}

// TestContextInJSON: indented JSON has no blank lines, so that its paragraph
// once was the whole document.
func TestContextInJSON(t *testing.T) {
	input := `{"rows":[{"id":1,"user":{"name":"ann","tags":["x","needle"]}},{"id":2,"user":{"name":"bob","tags":[]}},{"id":3,"user":{"name":"needle"}}]}`
	tests := []struct{ unit, want string }{
		{"paragraph", "2 matches, 2 shown\nrows[0].user (.tags[1]): {\"name\":\"ann\",\"tags\":[\"x\",\"needle\"]}\nrows[2].user (.name): {\"name\":\"needle\"}\n"},
		{"sentence", "2 matches, 2 shown\nrows[0].user.tags[1]: \"needle\"\nrows[2].user.name: \"needle\"\n"},
		{"section", "2 matches, 2 shown\nrows[0] (.user.tags[1]): {\"id\":1,\"user\":{\"name\":\"ann\",\"tags\":[\"x\",\"needle\"]}}\nrows[2] (.user.name): {\"id\":3,\"user\":{\"name\":\"needle\"}}\n"},
	}
	for _, tt := range tests {
		got := doctest.Apply(t, &Search{Mode: "context", Pattern: "needle", ContextType: tt.unit}, input)
		if d := cmp.Diff(tt.want, string(got.Data)); d != "" {
			t.Errorf("%s:\n%s", tt.unit, d)
		}
	}
}

func TestSentencesOnOneLine(t *testing.T) {
	out, err := (&Search{Mode: "context", Pattern: "wiki", ContextType: "sentence"}).Apply(t.Context(), doc.Recognise([]byte("A wiki. No. Two wiki!\n\nEnd.\n"), nil))
	if got, want := string(out.Data), "2 matches on 1 line, 2 shown\n1: A wiki. No. Two wiki!\n"; err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// TestSearchContextLong: source code without blank lines is one paragraph, of which only
// the lines around the match are shown.
func TestSearchContextLong(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "type T%d {\n  a: string\n  b {\n    c: T%d\n  }\n}\n", i, i+1)
	}
	got := string(doctest.Apply(t, &Search{Pattern: "type T100 ", Mode: "context"}, b.String()).Data)
	want := "1 match on 1 line, 1 shown\n596-   a: string\n597-   b {\n598-     c: T100\n599-   }\n600- }\n" +
		"601: type T100 {\n602-   a: string\n603-   b {\n604-     c: T101\n605-   }\n606- }\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
