package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestHighlight(t *testing.T) {
	tests := []struct{ text, query, want string }{
		{"The proxy evicts results; eviction is fair.", "evicting", "evicts eviction"},
		{"getUserName(id) and userName, user", "user", "User user user"},
		{"getUserName(id) and userName, user", "getUserName", "getUserName userName user"},
		{"see a/b/c.go. And c.go", "c.go", "c go c.go"},
		{"on 2024-01-31 and 2024-02-01", "2024-01-31", "2024-01-31 2024 01"},
		{"the table of the routes", "the route", "routes"},
		{"the table of the routes", "the", "the the"},
		{"在北京大学的北方", "北京", "北京 北"},
		{"日本語abc", "abc", "abc"},
		{"nothing here", "zebra", ""},
		{"nothing here", "?", ""},
		{"one one one one one one", "one", "one one one one one"},
	}
	for _, tt := range tests {
		text := "zebra one user the " + tt.text + " one zebra user"
		at := len("zebra one user the ")
		var got []string
		for _, s := range Highlight([]byte(text), Span{at, at + len(tt.text)}, tt.query, 0) {
			got = append(got, text[s.Start:s.End])
		}
		if d := cmp.Diff(tt.want, strings.Join(got, " ")); d != "" {
			t.Errorf("%q in %q: (-want +got)\n%s", tt.query, tt.text, d)
		}
	}
	if got := Highlight([]byte("x y"), Span{-3, 99}, "x y", 1); !cmp.Equal(got, []Span{{0, 1}}) {
		t.Errorf("outside of the text: %v", got)
	}
}

// checkHighlights: what Search finds has spans, in order and inside of the
// passage, and each has a token of the query.
func checkHighlights(t interface{ Fatalf(string, ...any) }, text []byte, passages []Span, ix *Index, query string, limit int) {
	asked := queryTokens(query)
	for _, found := range ix.Search(query, len(passages)) {
		h := passages[found.Passage]
		spans := Highlight(text, h, query, limit)
		if len(spans) == 0 || limit > 0 && len(spans) > limit {
			t.Fatalf("%q: %d spans of %d in %q", query, len(spans), limit, text[h.Start:h.End])
		}
		at := h.Start
		for _, s := range spans {
			if s.Start < at || s.End <= s.Start || s.End > h.End {
				t.Fatalf("%q: spans %v of %v", query, spans, h)
			}
			at = s.End
			if !slices.ContainsFunc(tokenize(text[s.Start:s.End]), func(token string) bool {
				return slices.Contains(asked, token)
			}) {
				t.Fatalf("%q: span %q", query, text[s.Start:s.End])
			}
		}
	}
}

func TestHighlightFound(t *testing.T) {
	words := rapid.StringMatching(`([a-cA-C1-2_./\-é日本\xff]{1,6}| the |\n|getUserName|HTTPServer){0,30}`)
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(words.Draw(t, "text"))
		ix, err := NewIndex(t.Context(), text, Passages(text))
		if err != nil {
			t.Fatal(err)
		}
		checkHighlights(t, text, Passages(text), ix, words.Draw(t, "query"), rapid.IntRange(0, 8).Draw(t, "limit"))
	})
}
