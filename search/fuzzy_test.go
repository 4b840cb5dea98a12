package search

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
	"github.com/google/go-cmp/cmp"
)

func TestFuzzy(t *testing.T) {
	tests := []struct {
		text, query string
		threshold   float64
		want        []string // best first
	}{
		{"we recieve what they receive", "receive", 0, []string{"receive", "recieve"}},
		{"Quick brwon fox", "quick brown", 0, []string{"Quick brwon"}},
		{"the quick\nbrown fox", "Quick Brown", 1, []string{"quick\nbrown"}},
		{"concatenate the cat", "cat", 0, []string{"cat"}},
		{"x.getUserName()", "usrname", 0, []string{"UserName"}},
		{"HTTPServer http_server httpserver", "http server", 0.9, []string{"HTTPServer", "http_server", "httpserver"}},
		{"error404 eror 404", "error", 0, []string{"error", "eror"}},
		{"wait, (hello), wait", "\"hello!\"", 1, []string{"hello"}},
		{"Straße und Strasse", "STRAẞE", 0, []string{"Straße"}},
		{"café cafe", "cafe", 0, []string{"cafe", "café"}},
		{"café cafe", "café", 0, []string{"café", "cafe"}},
		{"我喜欢北京烤鸭", "北京考鸭", 0, []string{"北京烤鸭"}},
		{"hello hello", "hello", 0, []string{"hello", "hello"}},
		{"nothing here", "zebra", 0, nil},
		{"\x00\xff\xfeabc\x80", "abc", 0, []string{"abc"}},
		{"", "abc", 0, nil},
	}
	for _, tt := range tests {
		hits, total, err := Fuzzy(t.Context(), []byte(tt.text), tt.query, FuzzyOptions{Threshold: tt.threshold})
		if err != nil {
			t.Errorf("%q: %v", tt.query, err)
			continue
		}
		if diff := cmp.Diff(tt.want, texts(tt.text, hits)); diff != "" || total != len(tt.want) {
			t.Errorf("%q in %q: total %d (-want +got)\n%s", tt.query, tt.text, total, diff)
		}
	}
}

func TestFuzzyErrors(t *testing.T) {
	tests := []struct {
		query     string
		threshold float64
		want      error
	}{
		{"", 0, ErrNoQuery},
		{" -- ", 0, ErrNoQuery},
		{"\xff", 0, ErrNoQuery},
		{strings.Repeat("é", maxFuzzyRunes+1), 0, ErrLongQuery},
		{strings.Repeat("é", maxFuzzyRunes), 0, nil},
		{strings.Repeat("a", 1<<20), 0, ErrLongQuery},
		{"a", -0.1, ErrThreshold},
		{"a", 1.1, ErrThreshold},
		{"a", math.NaN(), ErrThreshold},
		{"a", math.SmallestNonzeroFloat64, nil},
	}
	for _, tt := range tests {
		if _, _, err := Fuzzy(t.Context(), []byte("a b"), tt.query, FuzzyOptions{Threshold: tt.threshold}); !errors.Is(err, tt.want) {
			t.Errorf("%.20q, %v: %v, want %v", tt.query, tt.threshold, err, tt.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Fuzzy(ctx, []byte("a"), "a", FuzzyOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestFuzzyLimit(t *testing.T) {
	text := []byte(strings.Repeat("helo ", 100) + "hello")
	hits, total, err := Fuzzy(t.Context(), text, "hello", FuzzyOptions{Limit: 3})
	if err != nil || total != 101 || len(hits) != 3 || hits[0].Start != 500 || hits[1].Start != 0 || hits[2].Start != 5 {
		t.Errorf("total %d, hits %v, err %v", total, hits, err)
	}
}

// slowFuzzy is what Fuzzy promises, by comparing every run of words.
func slowFuzzy(text []byte, query string, threshold float64) []Hit {
	q := foldQuery(query)
	most := min(int((1-threshold)*float64(len(q))+1e-9), len(q)-1)
	var found []candidate
	var pending candidate
	floor := 0
	best := func(from, end int) (c candidate) {
		for start := end - 1; start >= from; start-- {
			if !utf8.RuneStart(text[start]) && utf8.Valid(text[start:end]) || !wordStart(text, start) {
				continue
			}
			var run []rune
			for _, r := range string(text[start:end]) {
				run = append(run, foldRune(r))
			}
			d := levenshtein.ComputeDistance(string(q), string(run))
			if d <= most && (c.End == 0 || d < c.dist) {
				c = candidate{Span{start, end}, d}
			}
		}
		return c
	}
	for end := 1; end <= len(text); end++ {
		if end < len(text) && !utf8.RuneStart(text[end]) && insideRune(text, end) || !wordEnd(text, end) {
			continue
		}
		all, after := best(floor, end), best(pending.End, end)
		if all.End > 0 && all.Start < pending.End && all.dist < pending.dist {
			pending = all
		} else if after.End > 0 {
			found = append(found, pending)
			floor, pending = pending.End, after
		}
	}
	var hits []Hit
	for _, c := range append(found, pending) {
		if c.End > 0 {
			line := bytes.Count(text[:c.Start], newline) + 1
			hits = append(hits, Hit{c.Span, line, 1 - float64(c.dist)/float64(len(q))})
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0
	})
	return hits
}

// insideRune reports whether pos is not a border of runes.
func insideRune(text []byte, pos int) bool {
	for i := range string(text) {
		if i == pos {
			return false
		}
	}
	return true
}

func checkFuzzy(t *testing.T, text []byte, query string, threshold float64) {
	t.Helper()
	got, total, err := Fuzzy(t.Context(), text, query, FuzzyOptions{Threshold: threshold, Limit: 1 << 20})
	if err != nil {
		return
	}
	if threshold == 0 {
		threshold = defaultThreshold
	}
	want := slowFuzzy(text, query, threshold)
	if !slices.Equal(want, got) || total != len(want) {
		t.Fatalf("%q in %q at %v: total %d (-slow +fast)\n%s", query, text, threshold, total, cmp.Diff(want, got))
	}
	for i, h := range got {
		for _, other := range got[:i] {
			if h.Start < other.End && other.Start < h.End {
				t.Fatalf("%q in %q: %v and %v overlap", query, text, h.Span, other.Span)
			}
		}
	}
}

func TestFuzzyExhaustive(t *testing.T) {
	for _, text := range stringsOf("ab B", 6) {
		for _, query := range []string{"a", "ab", "aab", "a b", "bab a"} {
			checkFuzzy(t, []byte(text), query, 0.5)
		}
	}
	for _, text := range stringsOf("aé.\xa9\n", 5) {
		for _, query := range []string{"aé", "aa", "a a"} {
			checkFuzzy(t, []byte(text), query, 0.3)
		}
	}
}

func FuzzFuzzy(f *testing.F) {
	long := strings.Repeat("seventy runes are more than one block of bits holds ", 3)
	f.Add([]byte("we recieve what\nthey receive"), "receive", 0.7)
	f.Add([]byte("x"+long[3:]+long[:40]), long, 0.6)
	f.Add([]byte("getUserName K\u212a \xff\xc3 caf\u00e9"), "kafé usrname", 0.2)
	f.Add([]byte("我喜欢北京烤鸭"), "北京考鸭", 0.5)
	f.Fuzz(func(t *testing.T, text []byte, query string, threshold float64) {
		if len(text) > 200 {
			return
		}
		checkFuzzy(t, text, query, threshold)
	})
}

// TestEdits compares the distance from where a text begins, as far as it is counted,
// with that of a library.
func TestEdits(t *testing.T) {
	query := []rune(strings.Repeat("abcdefg hij", 12))
	text := strings.Repeat("abdcefghxij é", 12)
	for _, most := range []int{0, 1, 5, 40, 131} {
		e := newEdits(query, most)
		n := 0
		for i, r := range text {
			if want := min(levenshtein.ComputeDistance(string(query), text[:i]), most+1); e.dist() != want {
				t.Fatalf("at most %d edits, text of %d bytes: %d, want %d", most, i, e.dist(), want)
			}
			n++
			e.step(r, n)
		}
	}
}
