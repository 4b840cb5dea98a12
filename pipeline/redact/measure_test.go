package redact

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/bench/corpus"
)

var update = flag.Bool("update", false, "rewrite testdata/measured.golden")

// A publicCase is an example that gitleaks tests a rule with. One with a path is for
// files of that name.
type publicCase struct {
	Rule, Path, Text string
	Secret           bool
}

func publicCases(t testing.TB) (cases []publicCase) {
	packed, err := os.ReadFile("testdata/cases.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c publicCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

// TestMeasured holds what docs/redaction.md says of misses and of false positives: on
// gitleaks' own examples, as they are and in JSON in a string of JSON, and on the results of
// the benchmarks.
func TestMeasured(t *testing.T) {
	var out strings.Builder
	cases := publicCases(t)
	for _, as := range []struct {
		name string
		form func(string) string
	}{
		{"text", func(s string) string { return s }},
		{"JSON in a JSON string", func(s string) string { return `{"a":` + quote(`{"b":`+quote(s)+`}`) + `}` }},
	} {
		var secrets, missed, others, masked, byOther int
		missedBy := map[string]int{}
		for _, c := range cases {
			text := as.form(c.Text)
			_, found, err := Mask(context.Background(), []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case c.Secret && found.Total() == 0:
				missed++
				missedBy[c.Rule]++
				fallthrough
			case c.Secret:
				secrets++
			case found[c.Rule] > 0:
				masked++
				others++
			default:
				if found.Total() > 0 {
					byOther++
				}
				others++
			}
		}
		fmt.Fprintf(&out, "gitleaks' examples as %s\n  %d secrets, %d missed", as.name, secrets, missed)
		for _, rule := range slices.Sorted(maps.Keys(missedBy)) {
			fmt.Fprintf(&out, ", %s ×%d", rule, missedBy[rule])
		}
		fmt.Fprintf(&out, "\n  %d that the rule must leave, %d masked by it, %d by another rule\n", others, masked, byOther)
	}
	files, err := os.ReadDir("../../bench/corpus/data")
	if err != nil {
		t.Fatal(err)
	}
	out.WriteString("the results of the benchmarks\n")
	bytes, total := 0, 0
	for _, file := range files {
		name := strings.TrimSuffix(file.Name(), ".gz")
		body, err := corpus.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		_, found, err := Mask(context.Background(), body)
		if err != nil {
			t.Fatal(err)
		}
		bytes, total = bytes+len(body), total+found.Total()
		for _, rule := range slices.Sorted(maps.Keys(found)) {
			fmt.Fprintf(&out, "  %s: %s ×%d\n", name, rule, found[rule])
		}
	}
	fmt.Fprintf(&out, "  %d files, %.1f MB: %d masked\n", len(files), float64(bytes)/1e6, total)

	const golden = "testdata/measured.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), out.String()); d != "" {
		t.Errorf("go test -run Measured ./pipeline/redact -update\n%s", d)
	}
}

var folder = flag.String("folder", "", "for TestFolder, see there")

// TestFolder says what would be masked in the files of a folder:
//
//	go test -run Folder -v ./pipeline/redact -folder DIR
func TestFolder(t *testing.T) {
	if *folder == "" {
		t.Skip("no -folder")
	}
	files, size, all, start := 0, 0, Found{}, time.Now()
	err := filepath.WalkDir(*folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !utf8.Valid(text) {
			return err
		}
		_, found, err := Mask(context.Background(), text)
		for rule, n := range found {
			t.Logf("%s: %s ×%d", path, rule, n)
			all[rule] += n
		}
		files, size = files+1, size+len(text)
		return err
	})
	mb := float64(size) / 1e6
	t.Logf("%d files, %.1f MB, %d masked, %.2f a MB: %v; %.0f MB/s", files, mb, all.Total(), float64(all.Total())/mb, all, mb/time.Since(start).Seconds())
	if err != nil {
		t.Error(err)
	}
}
