package find

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rlmproxy/pipeline/doc"
)

// TestIndexIsBounded: whatever a document is made of, what it is ranked by takes
// four times its size at most. Empty objects used to take fifteen times theirs.
func TestIndexIsBounded(t *testing.T) {
	const size = 1 << 20
	counted := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)) }
	array := func(s string) string { return "[" + strings.TrimRight(s, ",\n") + "]" }
	for name, input := range map[string]string{
		"empty objects":   array(repeat(`{},`)),
		"empty in a list": `{"a":` + array(repeat(`{},`)) + `}`,
		"lists":           array(repeat(`[{},{}],`)),
		"nested lists":    array(repeat(`[[{},{}],[{},{}]],`)),
		"mixed":           array(repeat(`1,{},`)),
		"wide and empty":  array(repeat(`{"a":"` + strings.Repeat("x", 60) + `"},1,`)),
		"numbers":         array(counted(`{"a":%d},`)),
		"members":         "{" + strings.TrimRight(counted(`"%d":{},`), ",") + "}",
		"lines":           repeat("{}\n"),
		"numbered lines":  counted("{\"a\":%d}\n"),
		"rows":            repeat("1,2\n"),
		"numbered rows":   counted("%d,2\n"),
		"short strings":   array(repeat(`"a",`)),
		"headings":        repeat("# a\n"),
		"words":           repeat("a "),
		"blank lines":     "a\n" + repeat("a\n\n"),
		"items":           repeat("- a\n"),
		"keys":            counted("a%d:\n"),
	} {
		v := doc.Recognise([]byte(input), nil)
		_, bytes, err := newRanking(t.Context(), v)
		most := 4.0
		if name == "keys" { // two words of each, which never come again
			most = 7.5
		}
		if times := float64(bytes) / float64(len(input)); err != nil || times > most {
			t.Errorf("%s: %.1f times its size, %v", name, times, err)
		}
	}
}

// TestSmallRecordsAreFound: of a document with too many of them, each is found
// by its word, and the hit names a range that it is in.
func TestSmallRecordsAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fillers := rapid.SliceOfN(rapid.SampledFrom([]string{`{}`, `{"a":1}`, `3`, `[{},{}]`, `"x"`, `[1,{}]`, `{"b":"some more words than fit"}`, `[]`}), 1, 6).Draw(t, "fillers")
		n := rapid.IntRange(6000, 7000).Draw(t, "elements")
		at := rapid.IntRange(0, n-1).Draw(t, "at")
		lines := rapid.Bool().Draw(t, "lines")
		all := make([]string, n)
		for i := range all {
			all[i] = fillers[i%len(fillers)]
			if lines && all[i][0] != '{' {
				all[i] = "{}"
			}
		}
		all[at] = `{"k":"needle"}`
		input, path := `{"list":[`+strings.Join(all, ",")+`]}`, "list"
		if lines {
			input, path = strings.Join(all, "\n"), ""
		}
		v := doc.Recognise([]byte(input), nil)
		out, err := (&Search{Mode: "bm25", Pattern: "needle", TopK: 3}).Apply(t.Context(), v)
		if err != nil || out.Items != 1 {
			t.Fatalf("%d hits, %v", out.Items, err)
		}
		line := strings.Split(string(out.Data), "\n")[1]
		var from, to int
		place, _, _ := strings.Cut(strings.TrimPrefix(line, path), " ")
		switch {
		case strings.Contains(place, ":"):
			_, err = fmt.Sscanf(place, "[%d:%d]", &from, &to)
		default:
			_, err = fmt.Sscanf(place, "[%d]", &from)
			to = from + 1
		}
		if err != nil || at < from || at >= to || !strings.Contains(line, `{"k":"needle"}`) {
			t.Fatalf("element %d is in %q: %v", at, line, err)
		}
	})
}
