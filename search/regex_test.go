package search

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRegex(t *testing.T) {
	text := "alpha beta\r\nBeta gamma beta\n\ngrüße \xff beta"
	tests := []struct {
		pattern string
		opts    RegexOptions
		want    []string // matches kept
		total   int
		lines   int
	}{
		{"beta", RegexOptions{}, []string{"beta", "beta", "beta"}, 3, 3},
		{"beta", RegexOptions{CaseInsensitive: true}, []string{"beta", "Beta", "beta", "beta"}, 4, 3},
		{"beta", RegexOptions{Limit: 1}, []string{"beta"}, 3, 3},
		{"beta$", RegexOptions{}, []string{"beta", "beta", "beta"}, 3, 3},
		{"^", RegexOptions{}, []string{"", "", "", ""}, 4, 4},
		{"^$", RegexOptions{}, []string{""}, 1, 1},
		{`a\s+[Bb]`, RegexOptions{}, []string{"a b", "a b"}, 2, 2},
		{`beta\s+beta`, RegexOptions{}, nil, 0, 0},
		{`\r`, RegexOptions{}, nil, 0, 0},
		{"(gamma|alpha) beta", RegexOptions{}, []string{"alpha beta", "gamma beta"}, 2, 2},
		{"GRÜSSE|grüße", RegexOptions{}, []string{"grüße"}, 1, 1},
		{"GRÜß", RegexOptions{CaseInsensitive: true}, []string{"grüß"}, 1, 1},
		{"\ufffd", RegexOptions{}, []string{"\xff"}, 1, 1},
	}
	for _, tt := range tests {
		got, err := Regex(t.Context(), []byte(text), tt.pattern, tt.opts)
		if err != nil {
			t.Errorf("%q: %v", tt.pattern, err)
			continue
		}
		if diff := cmp.Diff(tt.want, texts(text, got.Hits)); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", tt.pattern, diff)
		}
		if got.Total != tt.total || got.Lines != tt.lines {
			t.Errorf("%q: total %d in %d lines, want %d in %d", tt.pattern, got.Total, got.Lines, tt.total, tt.lines)
		}
	}
}

func texts(text string, hits []Hit) []string {
	var all []string
	for _, h := range hits {
		all = append(all, text[h.Start:h.End])
	}
	return all
}

func TestPatternError(t *testing.T) {
	for name, pattern := range map[string]string{
		"empty":          "",
		"unclosed class": "ab[c",
		"unclosed group": "a(b",
		"bad escape":     `ab\y`,
		"lookahead":      "a(?=b)",
		"nested repeat":  "((a{1000}){1000})",
		"large program":  strings.Repeat(`\pL{1000}`, 20),
		"long":           strings.Repeat("a", maxPatternBytes+1),
	} {
		_, err := Regex(t.Context(), []byte("text"), pattern, RegexOptions{})
		var pe *PatternError
		if !errors.As(err, &pe) {
			t.Errorf("%s: got %v, want a *PatternError", name, err)
		} else if len(pe.Pattern) > 210 {
			t.Errorf("%s: preview has %d bytes", name, len(pe.Pattern))
		}
	}
}

func TestRegexEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	line := bytes.Repeat([]byte("ab"), 1<<20) // one line, read with interruptions
	for _, pattern := range []string{"b", "a+b", "(a|b)*c|a", "."} {
		if _, err := Regex(ctx, line, pattern, RegexOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%q: got %v, want context.Canceled", pattern, err)
		}
	}
}

// TestRegexEndsInALine: a scan ends with its context within one line, whose every
// match is sought to the end of 4 MB.
func TestRegexEndsInALine(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	line := bytes.Repeat([]byte("ab"), 2<<20)
	begun := time.Now()
	m, err := Regex(ctx, line, "(a|b)*c|a", RegexOptions{})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%d matches, error %v", m.Total, err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("ended after %v", took)
	}
}

func TestRequired(t *testing.T) {
	tests := []struct {
		pattern string
		want    string // literals, separated by |; ~ before one in either case
	}{
		{"word", "word"},
		{"(?i)Word", "~word"},
		{`\b\w+_lock_irq\w*\b`, "_lock_irq"},
		{"alpha|beta|(gamma)+", "alpha|beta|gamma"},
		{"a(bc)?d*", "a"},
		{"x{2,}yz", "yz"},
		{"(abc){0,3}", ""},
		{"alpha|b*", ""},
		{`[ab]\d`, ""},
		{"ab\ufffdcde", "cde"},
		{"(?i)naïve", "~na"},
	}
	for _, tt := range tests {
		p, err := compilePattern(tt.pattern, false)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range p.required {
			if l.fold {
				l.text = "~" + l.text
			}
			got = append(got, l.text)
		}
		if g := strings.Join(got, "|"); g != tt.want {
			t.Errorf("%q: %s, want %s", tt.pattern, g, tt.want)
		}
	}
}

// slowRegex is what Regex promises: the regexp package, line by line.
func slowRegex(text []byte, re *regexp.Regexp) Matches {
	var m Matches
	for pos, n := 0, 1; pos < len(text); n++ {
		end := lineEnd(text, pos)
		found := re.FindAllIndex(bytes.TrimSuffix(text[pos:end], []byte("\r")), -1)
		for _, f := range found {
			m.Hits = append(m.Hits, Hit{Span: Span{pos + f[0], pos + f[1]}, Line: n})
		}
		m.Total += len(found)
		m.Lines += min(1, len(found))
		pos = end + 1
	}
	return m
}

// checkRegex compares Regex, and its way with long lines, to slowRegex.
func checkRegex(t interface {
	Helper()
	Fatalf(string, ...any)
}, text []byte, p *pattern) {
	t.Helper()
	want := slowRegex(text, p.re)
	program := p.program
	defer func() { p.program = program }()
	for _, p.program = range []int{program, maxLineWork} { // with the second, all lines are long
		s := regexScan{ctx: context.Background(), text: text, pattern: p, limit: 1 << 30, lines: lineCounter{text: text}, lastLine: -1}
		if err := s.run(); err != nil {
			t.Fatalf("%q in %q: %v", p.re, text, err)
		}
		if got := s.found; got.Total != want.Total || got.Lines != want.Lines || !slices.Equal(got.Hits, want.Hits) {
			t.Fatalf("%q in %q, program %d: (-slow +fast)\n%s", p.re, text, p.program, cmp.Diff(want, got))
		}
	}
}

func mustCompile(t interface{ Fatalf(string, ...any) }, expr string, fold bool) *pattern {
	p, err := compilePattern(expr, fold)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return p
}

var regexSeeds = []string{
	"a", "ab", "(?i)ab", "(?i)k", "(?i)s+", "a|b", "ab|ba|bb", "^a", "a$", `\bab\b`, `\Bb`, "a*", "(a|ab)(b?)",
	"x*", `\s`, `\W`, "[^a]", "(?:a|b)+?", `\x{fffd}`, ".", "a.b", "(?s).+", "(?m)^b$", `\Qa`, "a{2}", "(?i)ab|K", "\r",
}

func TestRegexExhaustive(t *testing.T) {
	for _, tt := range []struct {
		texts []string
		fold  bool
	}{
		{stringsOf("ab \n\r", 4), false},
		{stringsOf("aBK\u212a\xff\n", 4), true},
	} {
		for _, expr := range regexSeeds {
			p := mustCompile(t, expr, tt.fold)
			for _, text := range tt.texts {
				checkRegex(t, []byte(text), p)
			}
		}
	}
}

// stringsOf returns all strings of up to n of the runes of alphabet. An invalid
// byte counts as a rune.
func stringsOf(alphabet string, n int) []string {
	all := []string{""}
	for from := 0; n > 0; n-- {
		to := len(all)
		for ; from < to; from++ {
			for i, r := range alphabet {
				c := string(r)
				if r == 0xfffd {
					c = alphabet[i : i+1]
				}
				all = append(all, all[from]+c)
			}
		}
	}
	return all
}

func FuzzRegex(f *testing.F) {
	for _, expr := range regexSeeds {
		f.Add([]byte("ab ba\r\nK\u212a s\u017f\n\n\xff aab"), expr, true)
		f.Add([]byte("ab ba\r\naab\x00b"), expr, false)
	}
	f.Fuzz(func(t *testing.T, text []byte, expr string, fold bool) {
		if p, err := compilePattern(expr, fold); err == nil {
			checkRegex(t, text[:min(len(text), 1000)], p)
		}
	})
}
