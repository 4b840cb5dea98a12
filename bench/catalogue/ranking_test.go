package catalogue

import (
	"encoding/json"
	"fmt"
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
	first, five := 0, 0
	byKind := map[string][3]int{}
	for _, q := range queries {
		found := ix.Find(q.Query, 20, func(int) bool { return true })
		at := slices.IndexFunc(found, func(place int) bool { return slices.Contains(q.Tools, known[place]) })
		k := byKind[q.Kind]
		k[0]++
		if at == 0 {
			first++
			k[1]++
		}
		if at >= 0 && at < 5 {
			five++
			k[2]++
		}
		if at != 0 {
			var names []string
			for _, place := range found[:min(3, len(found))] {
				names = append(names, known[place].String())
			}
			t.Logf("%3d %s\n\twant %v\n\tgot  %s", at+1, q.Query, q.Tools, strings.Join(names, ", "))
		}
	}
	t.Logf("of %d queries the right tool is first for %d, among the first five for %d", len(queries), first, five)
	for kind, k := range byKind {
		t.Logf("%s: %v", kind, k)
	}
	if first < 80 || five < 95 {
		t.Errorf("first for %d, want 80; among five for %d, want 95", first, five)
	}
	_ = fmt.Sprint
	_ = json.Valid
}
