package tools

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"rlmproxy/cache"
)

var keptID = regexp.MustCompile(`^\[[^\n]*\bkept as cache_id=([a-z0-9]+)\]\n`)

// TestKeep: what is kept is the whole selection, however little of it is shown, in whatever
// format, and each page of it has the same id.
func TestKeep(t *testing.T) {
	b := newBench(t, records(500), 2000)
	kept := func(args string) (id, text string) {
		t.Helper()
		text, _ = b.ask(t, "proxy_filter", args)
		m := keptID.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("%s: %.300s", args, text)
		}
		return m[1], text
	}
	const evens = `"jq":"map(select(.id%2==0)|.id)"`
	small, text := kept(`{"cache_id":"ID","jq":"[.[]|select(.id<3)|.id]","keep":true}`)
	if want := fmt.Sprintf("[kept as cache_id=%s]\n[0,1,2]", small); text != want {
		t.Errorf("got %s, want %s", text, want)
	}
	if got, _ := b.ask(t, "proxy_filter", fmt.Sprintf(`{"cache_id":%q,"jq":"add"}`, small)); got != "3" {
		t.Errorf("what is kept adds up to %s", got)
	}
	first := ""
	for _, args := range []string{``, `,"limit":2`, `,"offset":200,"limit":2`, `,"whole":true`, `,"format":"lines"`, `,"whole":true,"format":"json"`} {
		id, _ := kept(`{"cache_id":"ID",` + evens + `,"keep":true` + args + `}`)
		if first == "" {
			first = id
		}
		if id != first {
			t.Errorf("%s is kept under another id", args)
		}
		if got, _ := b.ask(t, "proxy_filter", fmt.Sprintf(`{"cache_id":%q,"jq":"[length,add]"}`, id)); got != "[250,62250]" {
			t.Errorf("%s keeps %s", args, got)
		}
	}
	if _, text := kept(`{"cache_id":"ID",` + evens + `,"keep":true,"limit":2}`); text != fmt.Sprintf("[2 of 250 items · next offset 2 · kept as cache_id=%s]\n[0,2]", first) {
		t.Errorf("a page: %s", text)
	}
}

// TestKeepSources: each source of a query has selections that can be kept.
func TestKeepSources(t *testing.T) {
	b := newBench(t, records(5), 2000)
	for _, tt := range []struct{ args, header, data string }{
		{`{"tool":"doc","arguments":{},"fields":["id"],"keep":true}`, `^\[cache_id=\w+ · kept as cache_id=\w+\]`, `[{"id":0},{"id":1},{"id":2},{"id":3},{"id":4}]`},
		{`{"cache_ids":["ID","ID"],"jq":"map(length)","keep":true}`, `^\[kept as cache_id=\w+\]\n\[2 results joined\]`, `[5,5]`},
		{`{"cache_id":"ID","jq":".[1].name","keep":true}`, `^\[kept as cache_id=\w+\]`, `row 1`},
	} {
		got, facts := b.ask(t, "proxy_filter", tt.args)
		if !regexp.MustCompile(tt.header).MatchString(got) {
			t.Errorf("%s: %s", tt.args, got)
		}
		if text, _ := b.ask(t, "proxy_filter", fmt.Sprintf(`{"cache_id":%q}`, facts.CacheID)); text != tt.data {
			t.Errorf("%s keeps %s", tt.args, text)
		}
	}
	for _, args := range []string{`"jq":"empty"`, `"jq":".[0].id"`} {
		with, _ := b.ask(t, "proxy_filter", `{"cache_id":"ID","keep":true,`+args+`}`)
		if strings.Contains(with, "kept as") == (args == `"jq":"empty"`) {
			t.Errorf("%s: %s", args, with)
		}
	}
}

// TestNextOfWhatIsKept: the next call is of the selection, which is not made again.
func TestNextOfWhatIsKept(t *testing.T) {
	b := newBench(t, records(1000), 2000)
	got, _ := b.ask(t, "proxy_filter", `{"cache_id":"ID","fields":["id","name"],"keep":true,"format":"lines"}`)
	lines := strings.SplitN(got, "\n", 3)
	m := regexp.MustCompile(`next offset (\d+) · kept as cache_id=(\w+)\]$`).FindStringSubmatch(lines[0])
	if m == nil || lines[1] != fmt.Sprintf(`next: proxy_filter {"cache_id":%q,"format":"lines","offset":%s}`, m[2], m[1]) {
		t.Fatalf("got %.400s", got)
	}
	got, _ = b.ask(t, "proxy_filter", strings.TrimPrefix(lines[1], "next: proxy_filter "))
	if !strings.Contains(got, fmt.Sprintf("\n{\"id\":%s,\"name\":\"row %[1]s\"}\n", m[1])) {
		t.Errorf("the next page: %.300s", got)
	}
}

// TestKeepTooMuch: what cannot be kept is an error, and not a reply without an id.
func TestKeepTooMuch(t *testing.T) {
	b := newBenchOf(t, records(100), 2000, cache.Options{MaxBytesPerAgent: 20_000})
	got, _ := b.ask(t, "proxy_filter", `{"cache_id":"ID","jq":"[.[],.[],.[]]","keep":true,"limit":1}`)
	if want := "limit_memory: the selection, 21,"; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, " bytes, is too large to keep\nhint: select less of it, or leave out keep") {
		t.Errorf("got %s", got)
	}
}
