package search

import (
	"bytes"
	"context"
	"testing"
	"time"
)

// TestHostileText runs everything over texts that make one part or another
// of it do its worst. Whatever is not linear would not end within the minute.
func TestHostileText(t *testing.T) {
	const size = 32 << 10
	tests := []struct{ name, part string }{
		{"one line", "a"},
		{"one line of words", "hello worl "},
		{"newlines", "\n"},
		{"NULs", "\x00"},
		{"invalid", "\xff"},
		{"continuation bytes", "\x80"},
		{"blanks", " "},
		{"stops", ". "},
		{"headings", "#\n"},
		{"subheadings", "# a\n## b\n"},
		{"underlines", "a\n=\n"},
		{"fences", "```\n"},
		{"han", "漢"},
		{"json", `{"hello":"world"},`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			text := bytes.Repeat([]byte(tt.part), size/len(tt.part))
			passages := Passages(text)
			if len(passages) > size/minSectionBytes {
				t.Errorf("%d passages", len(passages))
			}
			ix, err := NewIndex(ctx, text, passages)
			if err != nil {
				t.Fatal(err)
			}
			ix.Search("hello 漢 a", 5)
			var hits []Hit
			for _, pattern := range []string{`h\w+o`, `\bhello\b|漢+`, "(?i)A$", "."} {
				m, err := Regex(ctx, text, pattern, RegexOptions{})
				if err != nil {
					t.Errorf("%q: %v", pattern, err)
				}
				hits = append(hits, m.Hits...)
			}
			for _, query := range []string{"hello", "hellö wörld", "漢字漢字", string(bytes.Repeat([]byte("hello"), 20))} {
				found, _, err := Fuzzy(ctx, text, query, FuzzyOptions{Threshold: 0.5})
				if err != nil {
					t.Errorf("%q: %v", query, err)
				}
				hits = append(hits, found...)
			}
			for i := range 1000 {
				at := i * len(text) / 1000
				hits = append(hits, Hit{Span: Span{at, at + 1}})
			}
			for _, unit := range units {
				Expand(text, hits, unit, 3)
			}
		})
	}
}
