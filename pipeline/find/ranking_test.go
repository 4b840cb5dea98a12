package find

import (
	"fmt"
	"strings"
	"testing"

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
