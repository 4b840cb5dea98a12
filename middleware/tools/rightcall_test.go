package tools

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestHintsWork plays what hints show as it stands: each right call works, and has
// what was right of the wrong one.
func TestHintsWork(t *testing.T) {
	b := newBench(t, records(500), 2000)
	for _, tt := range []struct{ tool, args, want string }{
		{"proxy_search", `{"pattern":"x"}`, `{"cache_id":"…","pattern":"x"}`},
		{"proxy_search", `{"cache_id":"ID"}`, `{"cache_id":"ID","pattern":"error"}`},
		{"proxy_search", `{"cache_id":"ID","query":"x","limit":3}`, `{"cache_id":"ID","pattern":"x","max_results":3}`},
		{"proxy_search", `{"cache_id":"ID","q":"x","count":"3"}`, `{"cache_id":"ID","pattern":"x","max_results":3}`},
		{"proxy_search", `{"cacheId":"ID","regex":"x","maxResults":3,"ignore_case":true,"context":2}`, `{"cache_id":"ID","pattern":"x","max_results":3,"context_lines":2,"case_insensitive":true}`},
		{"proxy_search", `{"cache_id":"ID","pattern":"x","tool":"doc","arguments":{}}`, `{"cache_id":"ID","pattern":"x"}`},
		{"proxy_search", `{"id":"ID","text":"x","threshold":"0.5","fields":"name"}`, `{"cache_id":"ID","pattern":"x","threshold":0.5,"fields":["name"]}`},
		{"proxy_search", `{"tool":"doc","args":"{}","query":"x"}`, `{"tool":"doc","arguments":{},"pattern":"x"}`},
		{"proxy_filter", `{"cache_id":"ID","query":".[0]"}`, `{"cache_id":"ID","jq":".[0]"}`},
		{"proxy_filter", `{"cache_id":"ID","columns":["id"],"skip":2,"count":3,"output":"table"}`, `{"cache_id":"ID","fields":["id"],"offset":2,"limit":3,"format":"table"}`},
		{"proxy_filter", `{"cache_id":"ID","max_results":3}`, `{"cache_id":"ID","limit":3}`},
		{"proxy_filter", `{"cache_id":"ID","fields":["id"],"mode":"all"}`, `{"cache_id":"ID","fields":["id"]}`},
		{"proxy_filter", `{"cache_id":"ID","offset":-1}`, `{"cache_id":"ID","offset":0}`},
		{"proxy_filter", `{"limit":3}`, `{"cache_id":"…","limit":3}`},
		{"proxy_filter", `{"cache_id":"ID","limit":0}`, `{"cache_id":"ID"}`},
		{"proxy_filter", `{"cache_ids":["ID"],"fields":["id"]}`, `{"jq":".","cache_ids":["ID"]}`},
		{"proxy_filter", `{"cache_ids":["ID"],"jq":".[0]","limit":"x"}`, `{"jq":".[0]","cache_ids":["ID"],"limit":20}`},
		{"proxy_filter", `{"cache_ids":["ID"],"cache_id":"ID","jq":".[0]"}`, `{"cache_id":"ID","jq":".[0]"}`},
		{"proxy_filter", `{"cache_ids":[],"limit":3}`, `{"cache_id":"…","limit":3}`},
		{"proxy_filter", `{"cache_id":"ID","limit":[3]}`, `{"cache_id":"ID","limit":3}`},
		{"proxy_explore", `{"cache_id":"ID","depth":2}`, `{"cache_id":"ID","max_depth":2}`},
		{"proxy_explore", `{"result_id":"ID","arguments":{}}`, `{"cache_id":"ID"}`},
		{"proxy_explore", `[1]`, `{"cache_id":"…"}`},
		{"proxy_filter", `{"cache_id":"ID","page":2}`, `{"cache_id":"ID","offset":20,"limit":20}`},
		{"proxy_filter", `{"cache_id":"ID","page":3,"per_page":"5"}`, `{"cache_id":"ID","offset":10,"limit":5}`},
		{"proxy_filter", `{"cache_id":"ID","page":"3","limit":5}`, `{"cache_id":"ID","offset":10,"limit":5}`},
		{"proxy_filter", `{"cache_id":"ID","fields":"id,, name, "}`, `{"cache_id":"ID","fields":["id","name"]}`},
		{"proxy_filter", `{"cache_id":"ID","path":"user.login"}`, `{"cache_id":"ID","fields":["user.login"]}`},
		{"proxy_filter", `{"cache_id":"ID","fields":"id, user.login"}`, `{"cache_id":"ID","fields":["id","user.login"]}`},
		{"proxy_explore", `{"cache_id":"ID","path":["user"]}`, `{"cache_id":"ID","path":"user"}`},
		{"proxy_search", `{"cache_id":"ID","pattern":["x"]}`, `{"cache_id":"ID","pattern":"x"}`},
		{"proxy_search", `"{\"cache_id\":\"ID\",\"query\":\"x\"}"`, `{"cache_id":"ID","pattern":"x"}`},
	} {
		got, _ := b.ask(t, tt.tool, tt.args)
		_, hint, ok := strings.Cut(got, "hint: a right call: "+tt.tool+" ")
		if want := strings.ReplaceAll(tt.want, "ID", b.id); !ok || hint != want {
			t.Errorf("%s %s:\n%s\nwant %s", tt.tool, tt.args, got, want)
			continue
		}
		if got, _ := b.ask(t, tt.tool, strings.ReplaceAll(hint, "…", b.id)); strings.Contains(got, "hint: ") {
			t.Errorf("%s %s: the hint fails: %s", tt.tool, hint, got)
		}
	}
}

// TestHintsNameTheTool: what another of our tools takes is not guessed at.
func TestHintsNameTheTool(t *testing.T) {
	b := newBench(t, records(500), 2000)
	for _, tt := range []struct{ tool, args, text, want string }{
		{"proxy_filter", `{"cache_id":"ID","pattern":"x","limit":3}`, `no parameter "pattern", but proxy_search has "pattern"`, `proxy_search {"cache_id":"ID","pattern":"x","max_results":3}`},
		{"proxy_filter", `{"cache_id":"ID","regex":"x"}`, `no parameter "regex", but proxy_search has "pattern"`, `proxy_search {"cache_id":"ID","pattern":"x"}`},
		{"proxy_explore", `{"cache_id":"ID","jq":".[0]"}`, `no parameter "jq", but proxy_filter has "jq"`, `proxy_filter {"cache_id":"ID","jq":".[0]"}`},
		{"proxy_explore", `{"cache_id":"ID","limit":3}`, `no parameter "limit", but proxy_filter has "limit"`, `proxy_filter {"cache_id":"ID","limit":3}`},
		{"proxy_search", `{"cache_id":"ID","max_depth":3}`, `no parameter "max_depth", but proxy_explore has "max_depth"`, `proxy_explore {"cache_id":"ID","max_depth":3}`},
	} {
		got, _ := b.ask(t, tt.tool, tt.args)
		want := "bad_arguments: " + tt.tool + ": " + tt.text + "\nhint: a right call: " + strings.ReplaceAll(tt.want, "ID", b.id)
		if got != want {
			t.Errorf("%s %s:\n%s\nwant\n%s", tt.tool, tt.args, got, want)
		}
	}
}

// TestCopiedIDs: an id is found in what stands around it in a first line.
func TestCopiedIDs(t *testing.T) {
	b := newBench(t, records(500), 2000)
	id, first := b.id, "[cut: ~980 of ~13,000 tokens shown · 3 of 500 items · cache_id="+b.id+"]"
	for _, given := range []string{id, "cache_id=" + id, "[" + id + "]", `"` + id + `"`, "'" + id + "'", "`" + id + "`", "<" + id + ">", " " + id + "\n", `{"cache_id":"` + id + `"}`, first} {
		if got, _ := b.ask(t, "proxy_filter", `{"cache_id":`+string(must(json.Marshal(given)))+`,"jq":"length"}`); got != "500" {
			t.Errorf("%q: %s", given, got)
		}
	}
	for _, bad := range []string{"", "[]", "cache_id=", id[1:], id + "x"} {
		if got, _ := b.ask(t, "proxy_filter", `{"cache_id":`+string(must(json.Marshal(bad)))+`}`); !strings.Contains(got, "_id") || got == "500" {
			t.Errorf("%q: %s", bad, got)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestArgumentsInString: an object that comes as a string of JSON is the object.
func TestArgumentsInString(t *testing.T) {
	b := newBench(t, records(500), 2000)
	if got, _ := b.ask(t, "proxy_filter", `{"tool":"doc","arguments":" {\"a\":1}","jq":"length"}`); !strings.HasSuffix(got, "\n500") {
		t.Error(got)
	}
	for _, bad := range []string{`"x"`, `"[1]"`, `""`, `"{"`, `"{\"a\":1"`, `3`} {
		if got, _ := b.ask(t, "proxy_filter", `{"tool":"doc","arguments":`+bad+`,"jq":"length"}`); !strings.HasPrefix(got, "bad_arguments: ") {
			t.Errorf("%s: %s", bad, got)
		}
	}
}
