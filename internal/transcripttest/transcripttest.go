// Package transcripttest holds what is said on the wire to transcripts, in tests.
package transcripttest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// Run plays each testdata/*.txtar, in a time of its own: play replaces in a script what
// comes back. What it is then must be what the file has.
func Run(t *testing.T, play func(t *testing.T, script *txtar.Archive)) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			script := txtar.Parse(want)
			synctest.Test(t, func(t *testing.T) { play(t, script) })
			got := txtar.Format(script)
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
