package search

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpand(t *testing.T) {
	const (
		paras = "one\ntwo\n\nthree\nfour\n \nfive\n"
		crlf  = "one\r\n\r\ntwo\r\nthree\r\n"
		md    = "intro\n# A\na\n## B\nb\n## C\nc\n# D\nd\n"
		under = "A\n===\na\n\nB\n---\nb\n\nC\n---\nc\n"
		fence = "# A\n```\n# no\n```\nend\n# B\n"
		prose = "It began. Then Mr. Smith,\nof No. 5, left! Why? \"So.\" Nobody knew 3.14 e.g. this.\n\nEnd"
		log   = "12:00 start\n12:01 stop now\n12:02 end\n"
		cjk   = "一二。三四。五六"
	)
	tests := []struct {
		text  string
		find  string // hits, separated by |
		unit  Unit
		lines int
		want  []string
	}{
		{paras, "two", Paragraph, 0, []string{"one\ntwo"}},
		{paras, "four|two", Paragraph, 0, []string{"one\ntwo", "three\nfour"}},
		{paras, "five", Paragraph, 0, []string{"five"}},
		{paras, "two\n\nthree", Paragraph, 0, []string{"one\ntwo\n\nthree\nfour"}},
		{paras, " ", Paragraph, 0, []string{" "}},
		{crlf, "two", Paragraph, 0, []string{"two\r\nthree"}},
		{md, "intro", Section, 0, []string{"intro"}},
		{md, "a", Section, 0, []string{"# A\na\n## B\nb\n## C\nc"}},
		{md, "b", Section, 0, []string{"## B\nb"}},
		{md, "b|c", Section, 0, []string{"## B\nb", "## C\nc"}},
		{md, "d", Section, 0, []string{"# D\nd"}},
		{under, "\nb", Section, 0, []string{"B\n---\nb"}},
		{under, "a", Section, 0, []string{strings.TrimSpace(under)}},
		{fence, "end", Section, 0, []string{"# A\n```\n# no\n```\nend"}},
		{paras, "two", Section, 0, []string{"one\ntwo"}},
		{prose, "began", Sentence, 0, []string{"It began."}},
		{prose, "Smith", Sentence, 0, []string{"Then Mr. Smith,\nof No. 5, left!"}},
		{prose, "Why|knew", Sentence, 0, []string{"Why?", "Nobody knew 3.14 e.g. this."}},
		{prose, "End", Sentence, 0, []string{"End"}},
		{log, "stop", Sentence, 0, []string{"12:01 stop now"}},
		{cjk, "三", Sentence, 0, []string{"三四。"}},
		{log, "stop", Lines, 0, []string{"12:01 stop now"}},
		{log, "stop", Lines, 1, []string{"12:00 start\n12:01 stop now\n12:02 end"}},
		{log, "start|stop", Lines, 0, []string{"12:00 start\n12:01 stop now"}},
		{log, "start|end", Lines, 0, []string{"12:00 start", "12:02 end"}},
		{crlf, "one|two", Lines, 0, []string{"one", "two"}},
		{crlf, "two|three", Lines, 0, []string{"two\r\nthree"}},
		{log, "stop", Lines, 1 << 62, []string{strings.TrimSpace(log)}},
	}
	for _, tt := range tests {
		var hits []Hit
		for find := range strings.SplitSeq(tt.find, "|") {
			i := strings.Index(tt.text, find)
			hits = append(hits, Hit{Span: Span{i, i + len(find)}})
		}
		var got []string
		for _, sp := range Expand([]byte(tt.text), hits, tt.unit, tt.lines) {
			got = append(got, tt.text[sp.Start:sp.End])
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q, %v %d: (-want +got)\n%s", tt.find, tt.unit, tt.lines, diff)
		}
	}
}

func TestParseUnit(t *testing.T) {
	for _, u := range units {
		if got, err := ParseUnit(string(u)); got != u || err != nil {
			t.Errorf("%v: %v, %v", u, got, err)
		}
	}
	if got, err := ParseUnit(""); got != Paragraph || err != nil {
		t.Errorf("no name: %v, %v", got, err)
	}
	if _, err := ParseUnit(strings.Repeat("chapter", 100)); err == nil || len(err.Error()) > 120 {
		t.Errorf("error %v", err)
	}
}

// checkExpand holds Expand to its promises for two hits.
func checkExpand(t *testing.T, text []byte, a, b Span, unit Unit, lines int) {
	t.Helper()
	spans := Expand(text, []Hit{{Span: a}, {Span: b}}, unit, lines)
	for i, sp := range spans {
		if sp != sp.clamp(len(text)) || i > 0 && sp.Start < spans[i-1].End {
			t.Fatalf("%q, %v %v, %v %d: spans %v", text, a, b, unit, lines, spans)
		}
	}
	for _, hit := range []Span{a.clamp(len(text)), b.clamp(len(text))} {
		if !slices.ContainsFunc(spans, func(sp Span) bool { return sp.Start <= hit.Start && hit.End <= sp.End }) {
			t.Fatalf("%q, %v %d: %v not in %v", text, unit, lines, hit, spans)
		}
	}
}

func TestExpandExhaustive(t *testing.T) {
	for _, text := range stringsOf("a#. \n", 4) {
		text := bytes.Repeat([]byte(text), 2)
		for i := range len(text) + 1 {
			for j := range len(text) + 1 {
				for _, unit := range units {
					checkExpand(t, text, Span{i, i + 1}, Span{j, j}, unit, i%2)
				}
			}
		}
	}
}

func FuzzExpand(f *testing.F) {
	f.Add([]byte("# A\n\ntext. More。\n```\n# x\n===\r\n"), 3, 5, 9, 9, 1, 1)
	f.Add([]byte("\xff\x00"), -1, 50, 9, 1, 2, -1)
	f.Fuzz(func(t *testing.T, text []byte, a, b, c, d, unit, lines int) {
		checkExpand(t, text, Span{a, b}, Span{c, d}, units[uint(unit)%uint(len(units))], lines)
	})
}
