package catalogue

import (
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"rlmproxy/middleware/catalogue"
)

// ranked is the catalogue as the proxy has it, and which tools these are.
func ranked(tb testing.TB) (*catalogue.Index, []Tool) {
	tb.Helper()
	servers, err := Servers()
	if err != nil {
		tb.Fatal(err)
	}
	var offered []catalogue.Tool
	var known []Tool
	for _, s := range servers {
		for _, raw := range s.Tools {
			name := gjson.GetBytes(raw, "name").String()
			known = append(known, Tool{s.Name, name})
			offered = append(offered, catalogue.Tool{Server: s.Name, Own: name, Definition: raw})
		}
	}
	return catalogue.New(offered), known
}

// TestRanking: where the first right tool stands in what each query finds.
func TestRanking(t *testing.T) {
	ix, known := ranked(t)
	queries, err := Queries()
	if err != nil {
		t.Fatal(err)
	}
	for _, as := range []struct {
		who         string
		of          func(Query) string
		first, five int // at least
	}{
		{"an agent", func(q Query) string { return q.Agent }, 80, 95},
		{"a person", func(q Query) string { return q.Query }, 49, 74},
	} {
		first, five := 0, 0
		for _, q := range queries {
			found := ix.Find(as.of(q), 20, func(int) bool { return true })
			at := slices.IndexFunc(found, func(place int) bool { return slices.Contains(q.Tools, known[place]) })
			if at == 0 {
				first++
			}
			if at >= 0 && at < 5 {
				five++
			}
			if at != 0 {
				var names []string
				for _, place := range found[:min(3, len(found))] {
					names = append(names, known[place].String())
				}
				t.Logf("%d: %q, want %v, got %s", at+1, as.of(q), q.Tools, strings.Join(names, ", "))
			}
		}
		t.Logf("as %s puts it: first for %d of %d, among the first five for %d", as.who, first, len(queries), five)
		if first < as.first || five < as.five {
			t.Errorf("as %s puts it: first for %d, want %d; among the first five for %d, want %d", as.who, first, as.first, five, as.five)
		}
	}
}
