package search

import (
	"bytes"
	"testing"
)

func TestLineTable(t *testing.T) {
	tests := []struct {
		text string
		len  int
		last string // text of the last line
	}{
		{"", 0, ""},
		{"a", 1, "a"},
		{"a\n", 1, "a"},
		{"a\n\n", 2, ""},
		{"a\r\nb\r\n", 2, "b"},
		{"a\nb\r", 2, "b"},
	}
	for _, tt := range tests {
		table := NewLineTable([]byte(tt.text))
		sp := table.Span(tt.len)
		if table.Len() != tt.len || tt.text[sp.Start:sp.End] != tt.last {
			t.Errorf("%q: %d lines, last %q, want %d, %q", tt.text, table.Len(), tt.text[sp.Start:sp.End], tt.len, tt.last)
		}
	}
}

// checkLines compares a table to counting newlines.
func checkLines(t *testing.T, text []byte) {
	t.Helper()
	table := NewLineTable(text)
	lines := bytes.Split(text, newline)
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	if table.Len() != len(lines) {
		t.Fatalf("%q: Len %d, want %d", text, table.Len(), len(lines))
	}
	for i, line := range lines {
		if sp := table.Span(i + 1); !bytes.Equal(text[sp.Start:sp.End], trimCR(line)) {
			t.Fatalf("%q: Span(%d) = %v", text, i+1, sp)
		}
	}
	counter := lineCounter{text: text}
	for off := range text {
		want := bytes.Count(text[:off], newline) + 1
		if got := table.Line(off); got != want {
			t.Fatalf("%q: Line(%d) = %d, want %d", text, off, got, want)
		}
		if got := counter.line(off); got != want {
			t.Fatalf("%q: line(%d) = %d, want %d", text, off, got, want)
		}
	}
	if got, want := table.Line(len(text)+5), max(1, len(lines)); got != want {
		t.Fatalf("%q: Line beyond the end = %d, want %d", text, got, want)
	}
	if table.Line(-1) != 1 || table.Span(0) != (Span{}) || table.Span(len(lines)+1) != (Span{len(text), len(text)}) {
		t.Fatalf("%q: outside the text", text)
	}
}

func TestLineTableExhaustive(t *testing.T) {
	for _, text := range stringsOf("a\r\n", 7) {
		checkLines(t, []byte(text))
	}
	for n := range 3*lineStride + 2 {
		checkLines(t, bytes.Repeat([]byte("ab\n"), n))
	}
}

func FuzzLineTable(f *testing.F) {
	f.Add([]byte("a\nb\r\n\xff"))
	f.Fuzz(func(t *testing.T, text []byte) { checkLines(t, text[:min(len(text), 2000)]) })
}
