package pipeline

import (
	"bytes"
	"context"
	"testing"

	"pgregory.net/rapid"
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
		got := apply(t, &Slice{tt.offset, tt.limit}, tt.in)
		if string(got.Data) != tt.want || got.Items != tt.items || got.Total != tt.total || got.Note != tt.note {
			t.Errorf("%d,%d of %q: %q, %d of %d, %q", tt.offset, tt.limit, tt.in, got.Data, got.Items, got.Total, got.Note)
		}
	}
	applyError(t, &Slice{Offset: -1}, "[]")
	applyError(t, &Slice{Limit: -1}, "[]")
}

// TestSlicePages puts pages together: they are the original, up to the
// space between items.
func TestSlicePages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var doc []byte
		if rapid.Bool().Draw(t, "text") {
			doc = rapid.SliceOf(rapid.SampledFrom([]byte("ab\n\r\x00\xff"))).Draw(t, "doc")
		} else {
			doc = genDoc().Draw(t, "doc")
		}
		limit := rapid.IntRange(1, 4).Draw(t, "limit")
		in := Recognise(doc, nil)
		var pages []byte
		for offset := 0; offset < in.Total; offset += limit {
			page, err := (&Slice{offset, limit}).Apply(context.Background(), in)
			if err != nil {
				t.Fatal(err)
			}
			if in.Kind == Text {
				pages = append(pages, page.Data...)
				continue
			}
			for _, value := range items(page) {
				pages = append(append(pages, value...), '\n')
			}
		}
		want := doc
		if in.Kind != Text {
			want = nil
			for _, value := range items(in) {
				want = append(append(want, value...), '\n')
			}
		}
		if !bytes.Equal(pages, want) {
			t.Fatalf("pages of %q are %q", want, pages)
		}
	})
}
