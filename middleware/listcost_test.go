package middleware

import (
	"encoding/json"
	"strings"
	"testing"

	"rlmproxy/judge"
	"rlmproxy/judge/judgetest"
	"rlmproxy/judge/openai"
	"rlmproxy/pipeline/tokens"
	"rlmproxy/registry"
)

// TestListCost: what our own tools cost an agent in each conversation. Programs, judgement and
// tools made at run time, switched off, cost nothing.
func TestListCost(t *testing.T) {
	ours := func(opts Options) (names []string, cost int) {
		opts.Upstreams = []Upstream{{Name: "s", Conn: server(nil, "read"), TrustHints: true}}
		s, conn := dial(t, opts)
		t.Cleanup(s.Close)
		var list struct{ Tools []json.RawMessage }
		if err := json.Unmarshal([]byte(ask(t, conn, "tools/list", `{}`)), &list); err != nil {
			t.Fatal(err)
		}
		for _, raw := range list.Tools {
			var tool struct{ Name string }
			if err := json.Unmarshal(raw, &tool); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(tool.Name, "proxy_") {
				n, _ := tokens.Count(raw)
				names, cost = append(names, tool.Name), cost+n
			}
		}
		return names, cost
	}
	names, off := ours(Options{Programs: fakeRunner{}})
	if strings.Join(names, " ") != "proxy_explore proxy_filter proxy_search" || off >= 700 {
		t.Errorf("switched off: %s, %d tokens", names, off)
	}
	store, err := registry.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	served := judgetest.Start(t, byWords)
	model, err := openai.New(openai.Options{URL: served.URL, Model: "small", Key: served.Key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	names, on := ours(Options{Programs: fakeRunner{}, Code: true, Made: &Made{Store: store}, SubModel: &SubModel{Judge: judge.New(judge.Options{}), Model: model}})
	if strings.Join(names, " ") != "proxy_explore proxy_filter proxy_search proxy_ask proxy_run proxy_tools" || on >= 1200 {
		t.Errorf("switched on: %s, %d tokens", names, on)
	}
	t.Logf("%d tokens, %d with all switched on", off, on)
}
