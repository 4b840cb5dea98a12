package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
)

// TestWrongSettingsCallNobody: what is wrong with a query whatever the result is
// told before a fresh call is made for it.
func TestWrongSettingsCallNobody(t *testing.T) {
	var calls atomic.Int32
	f := server(nil, "rows")
	f.call = func(context.Context, toolCall) (json.RawMessage, error) {
		calls.Add(1)
		return textResult(records(10)), nil
	}
	_, conn := dial(t, Options{FreshCalls: FreshAll, Upstreams: []Upstream{{Name: "s", Prefix: "s", Conn: f}}})
	for _, tt := range []struct{ tool, settings, code string }{
		{"proxy_search", `"pattern":"a(?=b)"`, "bad_pattern"},
		{"proxy_search", `"pattern":"(","mode":"context"`, "bad_pattern"},
		{"proxy_search", `"pattern":"--","mode":"fuzzy"`, "bad_pattern"},
		{"proxy_search", `"pattern":"a","mode":"fuzzy","threshold":2`, "bad_arguments"},
		{"proxy_search", `"pattern":"a","mode":"grep"`, "bad_arguments"},
		{"proxy_search", `"pattern":"a","top_k":99999999`, "bad_arguments"},
		{"proxy_search", `"pattern":"a","context_type":"verse"`, "bad_arguments"},
		{"proxy_explore", `"path":"a[["`, "bad_arguments"},
		{"proxy_explore", `"max_depth":5000`, "bad_arguments"},
		{"proxy_filter", `"format":"xml"`, "bad_arguments"},
		{"proxy_filter", `"fields":["a[["]`, "bad_arguments"},
		{"proxy_filter", `"fields":["a[["],"mode":"exclude"`, "bad_arguments"},
		{"proxy_filter", `"jq":".[] | select(.a ="`, "bad_jq"},
		{"proxy_search", `"pattern":"a","jq":".[] | "`, "bad_jq"},
		{"proxy_filter", `"fields":["a"],"format":"xml"`, "bad_arguments"},
	} {
		got := decode(t, call(t, conn, tt.tool, fmt.Sprintf(`{"tool":"s_rows","arguments":{},%s}`, tt.settings)))
		if code := got.Meta.Error["code"]; code != tt.code || calls.Load() != 0 {
			t.Errorf("%s: %s, %d calls: %s", tt.settings, code, calls.Swap(0), got.Content[0].Text)
		}
	}
	if got := decode(t, call(t, conn, "proxy_search", `{"tool":"s_rows","pattern":"row"}`)); got.IsError || calls.Load() != 1 {
		t.Errorf("%d calls: %s", calls.Load(), got.Content[0].Text)
	}
}
