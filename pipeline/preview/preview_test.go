package preview

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/doctest"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

func records1204() string {
	var b strings.Builder
	b.WriteString(`{"total":1204,"items":[`)
	for i := range 1204 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"state":"open","user":{"name":"user %d"},"body":"%s"}`, i, i, strings.Repeat("words ", i%200))
	}
	b.WriteString(`]}`)
	return b.String()
}

func TestPreviewJSON(t *testing.T) {
	v := doc.Recognise([]byte(records1204()), nil)
	text, part := Preview(v, 1000)
	shown, total := part.Shown, part.Total
	got := string(text)
	if total != 1204 || shown < 1 || shown > 1000 {
		t.Errorf("%d of %d", shown, total)
	}
	for _, want := range []string{"JSON object of 2 fields", "items: array, 1,204 items", "total: 1204", "items[].id: number, 0..1203", `items[0] {"id":0`, "left out …", `items[]: the same in all: state "open"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestPreviewText(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "2024-01-02T03:04:05Z line %d\n", i+1)
	}
	text, part := Preview(doc.Recognise([]byte(b.String()), nil), 500)
	shown, total := part.Shown, part.Total
	got := string(text)
	if total != 5000 || shown < 10 {
		t.Errorf("%d of %d", shown, total)
	}
	for _, want := range []string{"log, 5,000 lines", "1: 2024-01-02T03:04:05Z line 1\n", fmt.Sprintf("… %s left out …", show.Count(5000-shown)), "line 5000"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	text, _ = Preview(doc.Recognise([]byte(strings.Repeat("word ", 100_000)+"end"), nil), 200)
	if got := string(text); !strings.Contains(got, "bytes left out") || !strings.HasSuffix(got, "end") {
		t.Errorf("got\n%s", got)
	}
}

// TestPreviewFits is promise 2: a preview is never over its budget.
func TestPreviewFits(t *testing.T) {
	corpus := []string{records1204(), strings.Repeat("a line of text\n", 300), strings.Repeat("x", 5000), strings.Repeat("\n", 3000),
		strings.Repeat("漢字", 2000), strings.Repeat("\xff\x00", 2000), "{" + doctest.ManyMembers(300) + `"":0}`, strings.Repeat("[", 900) + strings.Repeat("]", 900)}
	rapid.Check(t, func(t *rapid.T) {
		var input []byte
		switch rapid.IntRange(0, 2).Draw(t, "source") {
		case 0:
			input = doctest.GenDoc().Draw(t, "doc")
		case 1:
			input = []byte(strings.Repeat(rapid.String().Draw(t, "text")+"\n", rapid.IntRange(1, 50).Draw(t, "times")))
		default:
			input = []byte(rapid.SampledFrom(corpus).Draw(t, "sample"))
		}
		budget := rapid.OneOf(rapid.IntRange(-1, 40), rapid.IntRange(0, 2000)).Draw(t, "budget")
		v := doc.Recognise(input, nil)
		text, part := Preview(v, budget)
		shown, total := part.Shown, part.Total
		if n, _ := tokens.Count(text); n > max(budget, 0) {
			t.Fatalf("%d tokens for a budget of %d:\n%s", n, budget, text)
		}
		if !utf8.Valid(text) || shown > total || shown < 0 {
			t.Fatalf("%d of %d:\n%q", shown, total, text)
		}
		again, _ := Preview(v, budget)
		if string(again) != string(text) {
			t.Fatal("two previews differ")
		}
	})
}

func TestNextCall(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"records", `{"items":[{"id":1,"size":2},{"id":2}]}`, ""},
		{"table", "name,size\n" + strings.Repeat("a,1\nb,2\n", 20), ""},
		{"text", strings.Repeat("words\n", 100), ""},
		{"one line", strings.Repeat("words and others ", 20) + "\n", `proxy_filter {"cache_id":"k3"}`},
	} {
		if got := NextCall(doc.Recognise([]byte(tt.in), nil), "k3"); got != tt.want {
			t.Errorf("%s: %q, want %s", tt.name, got, tt.want)
		}
	}
}

// TestRankedBy: the record with the highest value of the number that is likely to be asked
// for is among those shown.
func TestRankedBy(t *testing.T) {
	for _, tt := range []struct{ name, record, want string }{
		{"named like an amount", `{"name":"n%[1]d","other":%[2]d,"size":%[2]d}`, `[57] (max size) {"name":"n57"`},
		{"the first number", `{"name":"n%[1]d","x":%[2]d}`, `[57] (max x) {"name":"n57"`},
		{"below", `{"name":"n%[1]d","p":{"mag":%[2]d}}`, `[57] (max p.mag) {"name":"n57"`},
		{"an id", `{"name":"n%[1]d","user_id":%[2]d}`, ""},
		{"rising", `{"name":"n%[1]d","x":%[1]d}`, ""},
	} {
		text, _ := Preview(doc.Recognise([]byte(doctest.GenRecords(100, func(i int) string { return fmt.Sprintf(tt.record, i, i*7%100) })), nil), 500)
		if tt.want == "" && strings.Contains(string(text), "(max ") || !strings.Contains(string(text), tt.want) {
			t.Errorf("%s: no %q in\n%s", tt.name, tt.want, text)
		}
	}
}

// TestNumberedFields: columns of years are one line.
func TestNumberedFields(t *testing.T) {
	var b strings.Builder
	b.WriteString("country")
	for year := range 20 {
		fmt.Fprintf(&b, ",%d", 1990+year)
	}
	for row := range 200 {
		fmt.Fprintf(&b, "\nname of country %d", row)
		for year := range 20 {
			if cell := row*7919%1000 + year; cell%10 == 0 {
				b.WriteString(",")
			} else {
				fmt.Fprintf(&b, ",%d.5", cell)
			}
		}
	}
	text, _ := Preview(doc.Recognise([]byte(b.String()), nil), 600)
	const want = `[]["1990"] to "2009": 20 fields, number or empty (up to 10%), 1.5..1006.5` + "\n"
	if !strings.Contains(string(text), want) || strings.Contains(string(text), `[]["1991"]`) {
		t.Errorf("no %q in\n%s", want, text)
	}
}
