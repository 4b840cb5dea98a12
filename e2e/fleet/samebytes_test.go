package fleet

import (
	"encoding/json"
	"fmt"
	"testing"
)

// result is the result of a call at one replica, as it came.
func (c *rawClient) result(t *testing.T, replica int, tool string, args any) string {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	c.only = fmt.Sprint(replica)
	got, err := c.request(t.Context(), "", "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, raw))
	if err != nil {
		t.Fatalf("replica %d, %s %s: %v", replica, tool, raw, err)
	}
	return string(got)
}

// TestSameBytes: what one replica has kept, others answer questions about with the same
// bytes. The same call gets the same id everywhere.
func TestSameBytes(t *testing.T) {
	s := openSite(t, siteOptions{agents: []string{"ann", "bob"}})
	ann := newRaw(s.URL, tokenOf("ann"), stateless)
	bob := newRaw(s.URL, tokenOf("bob"), stateless)
	for maker := range 3 {
		args := newArgs("ann", fmt.Sprint("call ", maker), stateless)
		cut := ann.result(t, maker, "long", args)
		a, err := readAnswer(json.RawMessage(cut))
		if err != nil || a.id == "" {
			t.Fatalf("not cut: %.300s %v", cut, err)
		}
		ask := func(replica int) (all []string) {
			for _, q := range queries {
				all = append(all, ann.result(t, replica, q.tool, q.args(a.id, args, 7)))
			}
			// And one that is too long for a reply.
			return append(all, ann.result(t, replica, "proxy_filter", map[string]any{"cache_id": a.id, "jq": ".[:120]"}))
		}
		want := ask(maker)
		for _, other := range []int{(maker + 1) % 3, (maker + 2) % 3} {
			for i, got := range ask(other) {
				if got != want[i] {
					t.Errorf("made on replica %d, question %d:\n%.600s\non %d:\n%.600s", maker, i, want[i], other, got)
				}
			}
			if got := bob.result(t, other, "proxy_filter", map[string]any{"cache_id": a.id, "jq": ".[0]"}); got != bob.result(t, maker, "proxy_filter", map[string]any{"cache_id": "abcdefghijklmnop", "jq": ".[0]"}) {
				t.Errorf("another agent on replica %d: %.300s", other, got)
			}
			again, err := readAnswer(json.RawMessage(ann.result(t, other, "long", args)))
			if err != nil || again.id != a.id {
				t.Errorf("the same call on replica %d: id %q in place of %q, %v", other, again.id, a.id, err)
			}
		}
	}
}
