package fleet

import (
	"fmt"
	"testing"
)

// TestClients: both clients, in all revisions, call every tool of one process without a
// store. What TestFleet counts of three is held against that.
func TestClients(t *testing.T) {
	s := openSite(t, siteOptions{n: 1, noStore: true, agents: []string{"ann"}})
	for _, revision := range revisions {
		for kind, c := range map[string]client{"raw": newRaw(s.URL, tokenOf("ann"), revision), "sdk": newSDK(s.URL, tokenOf("ann"), revision)} {
			t.Run(kind+" "+revision, func(t *testing.T) {
				defer c.close()
				if err := c.begin(t.Context(), "begin"); err != nil {
					t.Fatal(err)
				}
				args := callArgs{Agent: "ann", Call: kind + revision, Rows: 300}
				if revision < "2025-06-18" {
					args.By = "sampling"
				}
				for _, tool := range []string{"short", "slow", "ask", "long"} {
					a, err := c.call(t.Context(), tool, tool, args)
					fmt.Printf("%s %s: %.300s %v\n", tool, a.id, a.text, err)
				}
			})
		}
	}
}
