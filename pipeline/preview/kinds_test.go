package preview

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/bench/outputs"
	"rlmproxy/pipeline/doc"
)

var update = flag.Bool("update", false, "rewrite testdata/kinds")

// TestKinds compares the preview of each real output, at the default size, with a golden
// file: a changed preview is a reviewed diff.
func TestKinds(t *testing.T) {
	const budget = 1000 // tokens: half the default limit
	for _, name := range outputs.Names() {
		t.Run(name, func(t *testing.T) {
			data, err := outputs.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := Preview(doc.Recognise(data, nil), budget)
			got := string(text) + "\n"
			golden := filepath.Join("testdata", "kinds", name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatalf("%v\ngo test ./pipeline/preview -run TestKinds -update writes it", err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s differs; if that is meant: go test ./pipeline/preview -run TestKinds -update\n%s", golden, diff)
			}
		})
	}
}
