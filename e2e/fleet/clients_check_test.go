package fleet

import (
	"strings"
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
				for _, tool := range []string{"short", "slow", "ask", "long"} {
					args := newArgs("ann", kind+revision+tool, revision)
					a, err := c.call(t.Context(), tool, tool, args)
					want := map[string]string{"ask": marker("ann") + args.Call + " " + saying(marker("ann")+args.Call), "long": "[cut: "}[tool]
					if want == "" {
						want = marker("ann") + args.Call
					}
					if err != nil || a.isError || !strings.HasPrefix(a.text, want) || (a.id != "") != (tool == "long") {
						t.Errorf("%s: %+v, %v, want %s", tool, a, err, want)
					}
					if hops := s.Hops(tool); len(hops) == 0 || !hops[0].Sent {
						t.Errorf("%s: %+v", tool, hops)
					}
					if a.id == "" {
						continue
					}
					for _, q := range queries {
						got, err := c.call(t.Context(), q.name, q.tool, q.args(a.id, args, 7))
						if want := q.want(args, 7); err != nil || got.isError || !strings.Contains(got.text, want) {
							t.Errorf("%s: %+v, %v, want %s", q.name, got, err, want)
						}
					}
				}
				if c.ended() {
					t.Error("its session has ended")
				}
			})
		}
	}
}
