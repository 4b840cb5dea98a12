package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
	"rlmproxy/middleware/observe"
	"rlmproxy/middleware/upstream"
)

// writer is a server whose tool read has a long result, and whose tool write takes what it
// is given; got has the arguments of its calls, as they came.
func writer(long *string) (f *fake, got *[]string) {
	got = new([]string)
	f = server(nil, "read")
	f.tools = append(f.tools, upstream.Tool{Name: "write", Raw: json.RawMessage(`{"name":"write","inputSchema":{"type":"object","properties":{
		"text":{"type":"string"},"any":{},"either":{"anyOf":[{"type":"string"},{"type":"array"}]},"maybe":{"type":["array","null"]},
		"rows":{"type":"array","items":{"$ref":"#/$defs/row"}},"row":{"$ref":"#/$defs/row"},"n":{"type":"integer"},"loop":{"$ref":"#/properties/loop"}},
		"$defs":{"row":{"type":"object","properties":{"id":{"type":"integer"}},"additionalProperties":{"type":"array"}}}}}`)})
	f.raw = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		if jsonscan.StringMember(r.Params, "name") == "read" {
			return textResult(*long), nil
		}
		*got = append(*got, string(jsonscan.Member(r.Params, "arguments")))
		return textResult("written"), nil
	}
	return f, got
}

// TestHandles: what a server gets where an argument is a handle, or the error.
func TestHandles(t *testing.T) {
	long := `{"rows":` + records(300) + `,"title":"a \"title\"","n":2.0,"big":9007199254740993,"none":null}`
	row := `{"big":9007199254740993,"id":0,"name":"row 0","user":{"login":"u0"}}` // jq sorts keys
	for _, tt := range []struct{ arguments, want string }{
		{`{"text":"H"}`, `{"text":` + mustQuote(long) + `}`},
		{`{"text":"H/0"}`, `{"text":` + mustQuote(long) + `}`},
		{`{ "z" : 1.0, "text" :	"H?jq=.title" , "big":9007199254740993}`, `{ "z" : 1.0, "text" :	"a \"title\"" , "big":9007199254740993}`},
		{`{"text":"H?jq=.rows | .[0]"}`, `{"text":` + mustQuote(row) + `}`},
		{`{"text":"H?jq=.rows%20%7C%20.%5B0%5D.id%2B1"}`, `{"text":"1"}`},
		{`{"text":"H?jq=.rows | length % 7"}`, `{"text":"6"}`},
		{`{"any":"H?jq=.rows[0]"}`, `{"any":` + mustQuote(row) + `}`},
		{`{"either":"H?jq=.rows[:1]"}`, `{"either":` + mustQuote("["+row+"]") + `}`},
		{`{"rows":"H?jq=.rows[:1]"}`, `{"rows":[` + row + `]}`},
		{`{"maybe":"H?jq=.rows[:1]"}`, `{"maybe":[` + row + `]}`},
		{`{"rows":[{"id":7},"H?jq=.rows[0]"]}`, `{"rows":[{"id":7},` + row + `]}`},
		{`{"rows":[{"x":["H?jq=.n"],"y":"H?jq=.rows[:1]"}]}`, `{"rows":[{"x":["2.0"],"y":[` + row + `]}]}`},
		{`{"row":{"id":"H?jq=.big"}}`, `{"row":{"id":9007199254740993}}`},
		{`{"loop":"H?jq=.n","H":"as it is"}`, `{"loop":"2.0","H":"as it is"}`},
		{`{"text":"rlmproxy:\/\/cache\/ID?jq=.n","any":"rlmproxy:\/\/x"}`, `{"text":"2.0","any":"rlmproxy:\/\/x"}`},
		{`{"text":"see H","any":" H","either":"H and more"}`, `{"text":"see H","any":" H","either":"H and more"}`},
		{`{"text":"rlmproxy://cache/{id}"}`, `{"text":"rlmproxy://cache/{id}"}`},
		{`{"n":"H?jq=.n"}`, `bad_arguments: arguments.n: write takes integer here, but the cached data is number` + "\nhint: select with ?jq=PROGRAM after the ID"},
		{`{"row":"H?jq=.rows"}`, `bad_arguments: arguments.row: write takes object here, but the cached data is array` + "\nhint: select with ?jq=PROGRAM after the ID"},
		{`{"rows":["H?jq=.title"]}`, `bad_arguments: arguments.rows[0]: write takes object here, but the cached data is string` + "\nhint: select with ?jq=PROGRAM after the ID"},
		{`{"text":"H?jq=.none"}`, `bad_jq: arguments.text: jq: the program gave no data for the argument`},
		{`{"text":"H?jq=.["}`, `bad_jq: arguments.text: `},
		{`{"text":"H/7"}`, `bad_arguments: arguments.text: rlmproxy://cache: block 7 has no text; these have: [0]` + "\nhint: put /0 after the ID"},
		{`{"a":[0,{"b":"rlmproxy://cache/aaaaaaaaaaaaaaaa"}]}`, `unknown_cache_id: arguments.a[1].b: you have no result with this cache_id`},
		{`{"text":[` + strings.Repeat(`"H?jq=.n",`, 16) + `"H?jq=.n"]}`, `bad_arguments: more than 16 arguments are rlmproxy://cache/ID`},
		{`{"text":["H","H","H","H","H"]}`, `limit_memory: arguments.text[3]: with the cached data, 25,973 bytes, the call has more than 90,000`},
	} {
		t.Run(fmt.Sprintf("%.60s", tt.arguments), func(t *testing.T) {
			f, got := writer(&long)
			_, conn := dial(t, Options{MaxLineBytes: 90_000, Upstreams: []Upstream{{Name: "s", Conn: f}}})
			id := cutID(t, conn, "read", `{}`)
			handle := func(s string) string { return strings.NewReplacer("H", "rlmproxy://cache/"+id, "ID", id).Replace(s) }
			said := text(t, conn, "write", handle(tt.arguments))
			switch {
			case strings.HasPrefix(tt.want, "{"):
				if diff := cmp.Diff([]string{handle(tt.want)}, *got); diff != "" || said != "written" {
					t.Errorf("%s\n%s", said, diff)
				}
			case !strings.HasPrefix(said, tt.want) || *got != nil:
				t.Errorf("%s, calls %.100q, want %s", said, *got, tt.want)
			}
		})
	}
}

// TestHandlesOfOthers: no agent comes by another's data through a tool, and a server with
// handles off gets what was written.
func TestHandlesOfOthers(t *testing.T) {
	long := records(300)
	f, got := writer(&long)
	s, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	handle := "rlmproxy://cache/" + cutID(t, conn, "read", `{}`)
	if said := text(t, connect(t, s), "write", `{"text":"`+handle+`"}`); !strings.HasPrefix(said, "unknown_cache_id: arguments.text: you have no result with this cache_id") {
		t.Error(said)
	}
	s.upstreams()[0].NoHandles = true
	if said := text(t, conn, "write", `{"text":"`+handle+`"}`); said != "written" || (*got)[0] != `{"text":"`+handle+`"}` {
		t.Errorf("%s, calls %q", said, *got)
	}
	if list := ask(t, conn, "tools/list", "{}"); strings.Contains(list, "rlmproxy://") {
		t.Error("handles are told of where no tool takes them")
	}
}

// TestHandlesElsewhere: a fresh call takes handles too; observers hear which, and what became
// of an expired one.
func TestHandlesElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := cache.New(cache.Options{TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		var log heard
		long := records(300)
		f, got := writer(&long)
		_, conn := dial(t, Options{Store: store, FreshCalls: FreshAll, Observers: []observe.Observer{&log}, Upstreams: []Upstream{{Name: "s", Conn: f}}})
		id := cutID(t, conn, "read", `{}`)
		text(t, conn, "proxy_filter", `{"tool":"write","arguments":{"text":"rlmproxy://cache/`+id+`?jq=length"}}`)
		time.Sleep(2 * time.Minute)
		log.take()
		if said := text(t, conn, "write", `{"text":"rlmproxy://cache/`+id+`"}`); said != "written" {
			t.Error(said)
		}
		if diff := cmp.Diff([]string{`{"text":"300"}`, `{"text":` + mustQuote(long) + `}`}, *got); diff != "" {
			t.Error(diff)
		}
		calls := log.take()
		if len(calls) != 2 || calls[1].Name != "read" || calls[1].For != calls[0].Number {
			t.Fatalf("%+v", calls)
		}
		want := []observe.Handle{{Argument: "arguments.text", CacheID: cache.ID(id), Bytes: len(mustQuote(long))}}
		if diff := cmp.Diff(want, calls[0].Handles); diff != "" {
			t.Error(diff)
		}
		long = records(301)
		time.Sleep(2 * time.Minute)
		if said := text(t, conn, "write", `{"text":"rlmproxy://cache/`+id+`"}`); !strings.HasPrefix(said, "bad_arguments: arguments.text: cache_id "+id+" had expired: read was called again") {
			t.Error(said)
		}
	})
}
