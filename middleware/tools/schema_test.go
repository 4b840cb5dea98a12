package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"rlmproxy/pipeline/tokens"
)

func TestOurToolsCost(t *testing.T) {
	all := strings.Join(Definitions(true), ",")
	if n, _ := tokens.Count([]byte(all)); n >= 700 {
		t.Errorf("the three tools cost %d tokens, want under 700", n)
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
