package page

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rlmproxy/bench/corpus"
	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/doctest"
	"rlmproxy/pipeline/tokens"
)

func TestSlice(t *testing.T) {
	for _, tt := range []struct {
		offset, limit int
		in, want      string
		items, total  int
		note          string
	}{
		{0, 0, "[1, 2]", "[1, 2]", 2, 2, ""},
		{1, 1, "[1.0, 2.50 ,3]", "[2.50]", 1, 3, ""},
		{1, 0, "[1,[2, 3],{}]", "[[2, 3],{}]", 2, 3, ""},
		{0, 1, `{"b" : 1,"a":2}`, `{"b":1}`, 1, 2, ""},
		{5, 1, "[1,2]", "[]", 0, 2, "offset 5 is beyond the end: 2 items in all"},
		{5, 1, `{"a":1}`, "{}", 0, 1, "offset 5 is beyond the end: 1 field in all"},
		{1, 1, "a\nb\r\nc", "b\r\n", 1, 3, ""},
		{2, 9, "a\nb\nc", "c", 1, 3, ""},
		{9, 9, "", "", 0, 0, "offset 9 is beyond the end: 0 lines in all"},
		{1, 1, "{\"a\":1}\n\n{\"a\":2}\n", "{\"a\":2}\n", 1, 2, ""},
	} {
		got := doctest.Apply(t, &Slice{Offset: tt.offset, Limit: tt.limit}, tt.in)
		if string(got.Data) != tt.want || got.Items != tt.items || got.Total != tt.total || got.Note != tt.note {
			t.Errorf("%d,%d of %q: %q, %d of %d, %q", tt.offset, tt.limit, tt.in, got.Data, got.Items, got.Total, got.Note)
		}
	}
	doctest.ApplyError(t, &Slice{Offset: -1}, "[]")
	doctest.ApplyError(t, &Slice{Limit: -1}, "[]")
}

// genPaged draws what can be paged: JSON, JSON Lines, lines and pieces.
func genPaged() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		some := rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "\n", "\r", " ", "\x00", "\xff", "é", "€", "😀", "\xe2\x82"}))
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return []byte(strings.Join(some.Draw(t, "text"), ""))
		case 1: // long lines
			var b []byte
			for range rapid.IntRange(1, 4).Draw(t, "parts") {
				part := strings.Join(append(some.Draw(t, "part"), "x"), "")
				b = append(b, bytes.Repeat([]byte(strings.ReplaceAll(part, "\n", "")), rapid.IntRange(1, 3000).Draw(t, "times"))...)
			}
			return b
		case 2:
			var b []byte
			for range rapid.IntRange(2, 6).Draw(t, "lines") {
				b = append(append(append(b, ' '), doctest.GenDoc().Draw(t, "line")...), "\r\n\n"...)
			}
			return b
		case 3:
			m := rapid.MapOfN(rapid.String(), doctest.GenTree(1), 0, 8).Draw(t, "object")
			b, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		return doctest.GenDoc().Draw(t, "doc")
	})
}

// pagesOf are the items of v one after the other, as spelt: what pages put
// together must give.
func pagesOf(v doc.Value) []byte {
	var out []byte
	switch {
	case v.Kind == doc.Text:
		return v.Data
	case v.Kind == doc.JSON && jsonscan.Kind(v.Data) == '{':
		for key, value := range jsonscan.Fields(v.Data) {
			out = append(append(append(append(out, key...), ':'), value...), '\n')
		}
	case v.Kind == doc.JSON:
		for _, value := range jsonscan.Items(v.Data) {
			out = append(append(out, value...), '\n')
		}
	default:
		for line := range bytes.Lines(v.Data) {
			if len(bytes.TrimSpace(line)) > 0 {
				out = append(out, line...)
			}
		}
	}
	return out
}

// TestSlicePages puts pages together: they are the original, up to the
// space between items.
func TestSlicePages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := doc.Recognise(genPaged().Draw(t, "doc"), nil)
		var pages []byte
		for offset, total := 0, 1; offset < total; {
			limit := rapid.IntRange(1, 5).Draw(t, "limit")
			page, err := (&Slice{Offset: offset, Limit: limit}).Apply(context.Background(), in)
			if err != nil {
				t.Fatal(err)
			}
			total = page.Total
			if want := min(limit, max(total-offset, 0)); page.Items != want || page.Kind != in.Kind {
				t.Fatalf("%v of %d %s at offset %d, want %d of %d", page.Kind, page.Items, page.Unit, offset, want, total)
			}
			if (page.Unit == "pieces") != isOneLine(in) {
				t.Fatalf("a page of %s", page.Unit)
			}
			if page.Unit != "pieces" && total != in.Total {
				t.Fatalf("%d of %d %s", total, in.Total, page.Unit)
			}
			pages = append(pages, pagesOf(page)...)
			offset += limit
		}
		if want := pagesOf(in); !bytes.Equal(pages, want) {
			t.Fatalf("pages of %q are %q", want, pages)
		}
	})
}

// TestFill goes through pages by what they cost.
func TestFill(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		in := doc.Recognise(genPaged().Draw(t, "doc"), nil)
		var pages []byte
		s := Slice{}
		for {
			s.Limit = rapid.IntRange(0, 9).Draw(t, "limit")
			budget := rapid.IntRange(-1, 400).Draw(t, "budget")
			page, next, err := s.Fill(ctx, in, budget)
			if err != nil {
				t.Fatal(err)
			}
			same, err := (&Slice{Offset: s.Offset, Limit: max(page.Items, 1)}).Apply(ctx, in)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(same, page); d != "" {
				t.Fatalf("the page at %d of %d items:\n%s", s.Offset, page.Items, d)
			}
			if page.Items > 1 && !tokens.AtMost(page.Data, budget) {
				t.Fatalf("%d items are more than %d tokens", page.Items, budget)
			}
			if s.Limit > 0 && page.Items > s.Limit {
				t.Fatalf("%d items, limit %d", page.Items, s.Limit)
			}
			pages = append(pages, pagesOf(page)...)
			if next == 0 {
				if s.Offset+page.Items != page.Total {
					t.Fatalf("ended after %d of %d", s.Offset+page.Items, page.Total)
				}
				break
			}
			if next != s.Offset+page.Items || next <= s.Offset {
				t.Fatalf("next is %d after %d items from %d", next, page.Items, s.Offset)
			}
			s.Offset = next
		}
		if want := pagesOf(in); !bytes.Equal(pages, want) {
			t.Fatalf("pages of %q are %q", want, pages)
		}
	})
}

func TestFillPages(t *testing.T) {
	rows := strings.Repeat("a line of seven words or so\n", 1000)
	for _, tt := range []struct {
		name                string
		in                  string
		s                   Slice
		budget              int
		items, total, next  int
		unit                string
		overBudget, hasNote bool
	}{
		{"fits", `[1, 2]`, Slice{}, 100, 2, 2, 0, "items", false, false},
		{"some fit", rows, Slice{}, 100, 12, 1000, 12, "lines", false, false},
		{"from the middle", rows, Slice{Offset: 990}, 100, 10, 1000, 0, "lines", false, false},
		{"limit first", rows, Slice{Offset: 5, Limit: 3}, 100, 3, 1000, 8, "lines", false, false},
		{"one at least", `["` + strings.Repeat("word ", 1000) + `",2]`, Slice{}, 10, 1, 2, 1, "items", true, false},
		{"no budget", `{"a":1,"b":2}`, Slice{}, 0, 1, 2, 1, "fields", true, false},
		{"beyond the end", `[1,2]`, Slice{Offset: 2}, 10, 0, 2, 0, "items", false, true},
		{"nothing", `[]`, Slice{}, 10, 0, 0, 0, "items", false, false},
		{"one line", strings.Repeat("word ", 10_000), Slice{Offset: 48}, 500, 2, 50, 0, "pieces", false, false},
		{"one line, begin", strings.Repeat("word ", 10_000), Slice{}, 500, 2, 50, 2, "pieces", false, false},
	} {
		got, next, err := tt.s.Fill(context.Background(), doc.Recognise([]byte(tt.in), nil), tt.budget)
		if err != nil || got.Items != tt.items || got.Total != tt.total || next != tt.next || got.Unit != tt.unit {
			t.Errorf("%s: %d of %d %s, next %d, %v", tt.name, got.Items, got.Total, got.Unit, next, err)
		}
		if over := !tokens.AtMost(got.Data, tt.budget); over != tt.overBudget || (got.Note != "") != tt.hasNote {
			t.Errorf("%s: over the budget: %v; note %q", tt.name, over, got.Note)
		}
	}
	if _, _, err := (&Slice{Offset: -1}).Fill(context.Background(), doc.Recognise([]byte("[]"), nil), 10); err == nil {
		t.Error("a negative offset")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := (&Slice{}).Fill(ctx, doc.Recognise([]byte(strings.Repeat("1,2\n", 5000)), nil), 10); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	v := doc.Value{Kind: doc.JSON, Data: []byte("42")}
	if got, next, err := (&Slice{Offset: 3}).Fill(context.Background(), v, 0); err != nil || next != 0 || string(got.Data) != "42" {
		t.Errorf("a scalar: %s, next %d, %v", got.Data, next, err)
	}
}

func BenchmarkFill(b *testing.B) {
	for _, file := range []string{"flights.json", "ec2.d.ts", "zipcodes.csv"} {
		input, err := corpus.Open(file)
		if err != nil {
			b.Fatal(err)
		}
		for _, one := range []bool{false, true} {
			if one {
				input = bytes.ReplaceAll(input, []byte{'\n'}, []byte{' '})
			}
			v := doc.Recognise(input, nil)
			b.Run(fmt.Sprintf("body=%s/oneline=%v", file, one), func(b *testing.B) {
				b.SetBytes(int64(len(input)))
				b.ReportAllocs()
				out, items := doc.Value{}, 0
				for b.Loop() {
					if out, _, err = (&Slice{}).Fill(context.Background(), v, 2000); err != nil {
						b.Fatal(err)
					}
					items = out.Items
				}
				n, _ := tokens.Count(out.Data)
				b.ReportMetric(float64(n), "tokens/op")
				b.ReportMetric(float64(items), "items/op")
			})
		}
	}
}

func TestPieces(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []int // sizes, or nil for lines
	}{
		{"short line", strings.Repeat("x", 2000), nil},
		{"long line", strings.Repeat("x", 2001), []int{1000, 1000, 1}},
		{"long lines", strings.Repeat(strings.Repeat("x", 2000)+"\n", 2), nil},
		{"long line with its end", strings.Repeat("x", 2001) + "\n", []int{1000, 1000, 2}},
		{"one long line of many", strings.Repeat("x", 5000) + "\na\nb\nc\n", nil},
		{"two bytes a rune", "x" + strings.Repeat("é", 1001), []int{999, 1000, 4}},
		{"four bytes a rune", "xx" + strings.Repeat("😀", 600), []int{998, 1000, 404}},
		{"no UTF-8", strings.Repeat("\xbf", 2001), []int{1000, 1000, 1}},
		{"half a rune", strings.Repeat("x", 999) + "\xf0\x9f" + strings.Repeat("x", 1500), []int{1000, 1000, 501}},
		{"binary", strings.Repeat("\x00\xff", 1500), []int{1000, 1000, 1000}},
	} {
		v := doc.Recognise([]byte(tt.in), nil)
		if isOneLine(v) != (tt.want != nil) {
			t.Errorf("%s: pieces: %v", tt.name, isOneLine(v))
			continue
		}
		var sizes []int
		for n := range tt.want {
			sizes = append(sizes, len(doctest.Apply(t, &Slice{Offset: n, Limit: 1}, tt.in).Data))
		}
		if d := cmp.Diff(tt.want, sizes); d != "" {
			t.Errorf("%s:\n%s", tt.name, d)
		}
	}
}
