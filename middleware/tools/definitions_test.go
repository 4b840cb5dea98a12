package tools

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"rlmproxy/pipeline/tokens"

	"github.com/google/go-cmp/cmp"
)

func TestOurToolsCost(t *testing.T) {
	all := strings.Join(Definitions(true, true, true), ",")
	if n, _ := tokens.Count([]byte(all)); n >= 700 {
		t.Errorf("the three tools cost %d tokens, want under 700", n)
	}
	if n, _ := tokens.Count([]byte(AskDefinition(true, true))); n > 240 {
		t.Errorf("proxy_ask costs %d tokens, want at most 240", n)
	}
	if n, _ := tokens.Count([]byte(Instructions)); n > 100 {
		t.Errorf("the instructions cost %d tokens, want at most 100", n)
	}
	var defined []struct {
		InputSchema struct{ Properties map[string]any }
	}
	if err := json.Unmarshal([]byte("["+all+"]"), &defined); err != nil || len(defined) != 3 {
		t.Fatal(err)
	}
}

// TestRunCosts: the types that a program reads stand in 200 tokens.
func TestRunCosts(t *testing.T) {
	types := runText[strings.Index(runText, "\nlet state")+1:]
	if n, _ := tokens.Count([]byte(types)); n > 200 {
		t.Errorf("the types cost %d tokens", n)
	}
	n, _ := tokens.Count([]byte(RunDefinition(true)))
	t.Logf("proxy_run costs %d tokens", n)
}

var update = flag.Bool("update", false, "write testdata/definitions.golden")

// TestDefinitions: a change of what clients and models read of our tools is seen.
func TestDefinitions(t *testing.T) {
	const golden = "testdata/definitions.golden"
	got := ""
	for _, d := range []struct {
		when                     string
		fresh, readOnly, handles bool
	}{
		{"calls tools that read", true, true, true},
		{"calls tools that may act", true, false, true},
		{"calls no tools", false, true, true},
		{"no tool takes handles", true, true, false},
	} {
		got += d.when + "\n" + strings.Join(Definitions(d.fresh, d.readOnly, d.handles), "\n") + "\n"
	}
	got += "judged by a sub-model\n" + AskDefinition(true, true) + "\n" + AskDefinition(false, true) + "\n"
	got += "programs, and tools made of them\n" + RunDefinition(true) + "\n" + ToolboxDefinition() + "\n"
	got += "of the proxy itself\n" + StatsDefinition() + "\n" + UpstreamsDefinition() + "\n"
	got += "programs\n" + RunDefinition(true) + "\n"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}
