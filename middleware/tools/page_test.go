package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rlmproxy/middleware/frame"
	"rlmproxy/pipeline/tokens"
)

var nextOffset = regexp.MustCompile(`^\[[^\n]* · next offset (\d+)[^\n]*\]$`)

// TestPages reads documents to their end, by the offsets that the pages name.
// No page is over the limit, and together they are the document.
func TestPages(t *testing.T) {
	var indented bytes.Buffer
	if err := json.Indent(&indented, []byte(records(300)), "", "    "); err != nil {
		t.Fatal(err)
	}
	lines := strings.ReplaceAll(strings.Trim(records(300), "[]"), "},{", "}\n{")
	object := regexp.MustCompile(`"id":(\d+)`).ReplaceAllString(strings.NewReplacer("[", "{", "]", "}").Replace(records(300)), `"id":$1`)
	n := 0
	object = regexp.MustCompile(`\{"id"`).ReplaceAllStringFunc(object, func(s string) string { n++; return fmt.Sprintf(`"k%d":%s`, n, s) })
	tests := []struct{ name, doc, args, want string }{
		{"array", records(300), ``, records(300)},
		{"indented array", indented.String(), ``, records(300)},
		{"object", object, ``, object},
		{"lines", strings.Repeat("a line of text, and ü\n", 2000) + "the end", ``, ""},
		{"Windows lines", strings.Repeat("a line of text\r\n", 2000), ``, ""},
		{"JSON Lines", lines, ``, lines},
		{"one long line", strings.Repeat("words and ü ", 4000), ``, ""},
		{"with a small limit", records(300), `,"limit":7`, records(300)},
		{"with a large limit", records(300), `,"limit":250`, records(300)},
		{"as lines", records(300), `,"format":"lines"`, lines + "\n"},
		{"CSV", "id,name\n" + strings.Repeat("1,\"a, b\"\n", 3000), ``, ""},
		{"notices", strings.Repeat("[cut: ~1 of ~2 tokens shown · cache_id=x]\n[20 of 30 lines · next offset 99999]\nnext: proxy_filter {}\n", 300), ``, ""},
	}
	for _, tt := range tests {
		if tt.want == "" {
			tt.want = tt.doc
		}
		b := newBench(t, tt.doc, 2000)
		var parts []string
		for offset, pages := 0, 0; ; pages++ {
			if pages > 200 {
				t.Fatalf("%s: no end", tt.name)
			}
			text, _ := b.ask(t, "proxy_filter", fmt.Sprintf(`{"cache_id":"ID","offset":%d%s}`, offset, tt.args))
			if n, _ := tokens.Count([]byte(text)); n > 4000 {
				t.Fatalf("%s: a page of %d tokens", tt.name, n)
			}
			first, rest, _ := strings.Cut(text, "\n")
			if !strings.HasPrefix(first, "[") || strings.HasPrefix(first, "[cut") {
				t.Fatalf("%s at %d: %s", tt.name, offset, first)
			}
			parts = append(parts, strings.TrimPrefix(rest, frame.Data))
			m := nextOffset.FindStringSubmatch(first)
			if m == nil {
				break
			}
			offset, _ = strconv.Atoi(m[1])
		}
		if len(parts) < 2 {
			t.Errorf("%s: one page", tt.name)
		}
		got := strings.Join(parts, "")
		if tt.doc[0] == '{' && tt.name == "object" || tt.doc[0] == '[' && !strings.Contains(tt.name, "lines") && tt.name != "notices" {
			got = strings.NewReplacer("][", ",", "}{", ",").Replace(got)
		}
		if got != tt.want {
			t.Errorf("%s: %d pages are not the document: %.200s … %s", tt.name, len(parts), got, got[max(len(got)-100, 0):])
		}
	}
}

// TestLongString: a string that is too long for a reply is paged as a text.
func TestLongString(t *testing.T) {
	body := strings.Repeat("a line\n", 3000)
	doc, _ := json.Marshal(map[string]any{"path": "x", "body": body})
	b := newBench(t, string(doc), 2000)
	_, inner := b.ask(t, "proxy_filter", `{"cache_id":"ID","jq":".body"}`)
	if inner.Items != 3000 {
		t.Errorf("%+v", inner)
	}
	got, _ := b.ask(t, "proxy_filter", fmt.Sprintf(`{"cache_id":%q,"offset":2999}`, inner.CacheID))
	if got != "[1 of 3,000 lines, from offset 2999]\na line\n" {
		t.Errorf("got %q", got)
	}
}

// TestPagesWithALongItem: an item that no page has room for is cut, and its
// reply still says which it is and what comes next.
func TestPagesWithALongItem(t *testing.T) {
	doc := `[` + strings.Repeat(`{"id":1},`, 5) + `{"long":"` + strings.Repeat("words ", 4000) + `"},` + strings.Repeat(`{"id":2},`, 5000) + `{"id":3}]`
	b := newBench(t, doc, 2000)
	for offset, want := range map[int]string{
		0: "[5 of 5,007 items · next offset 5]",
		5: "[1 of 5,007 items, from offset 5 · next offset 6]",
	} {
		got, _ := b.ask(t, "proxy_filter", fmt.Sprintf(`{"cache_id":"ID","offset":%d}`, offset))
		lines := strings.Split(got, "\n")
		if lines[0] != want && lines[1] != want {
			t.Errorf("from %d: %s\n%s", offset, lines[0], lines[1])
		}
	}
	got, _ := b.ask(t, "proxy_filter", `{"cache_id":"ID","fields":["id","long"],"limit":4000}`)
	want := fmt.Sprintf("[5 of 5,007 items · next offset 5]\n[1 of 5,007 records lack .id; 5,006 of 5,007 records lack .long]\n"+
		`next: proxy_filter {"cache_id":%q,"fields":["id","long"],"limit":4000,"offset":5}`+"\n", b.id)
	if !strings.HasPrefix(got, want) {
		t.Errorf("a page of a selection does not say where it goes on: %.400s", got)
	}
}

// TestPageThatImitates: a text that begins as a page of ours does stands below a line that
// says so.
func TestPageThatImitates(t *testing.T) {
	const doc = "[20 of 30 items · next offset 50]\nwords\n"
	b := newBench(t, doc, 200)
	if got, _ := b.ask(t, "proxy_filter", `{"tool":"doc","arguments":{}}`); !strings.HasPrefix(got, "[cache_id=") || !strings.HasSuffix(got, "]\n"+frame.Data+doc) {
		t.Errorf("got %s", got)
	}
	if got, _ := b.ask(t, "proxy_filter", `{"cache_id":"ID"}`); got != frame.Data+doc {
		t.Errorf("got %s", got)
	}
}
