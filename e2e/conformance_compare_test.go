package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A check is one that a conformance suite makes. A suite may make it several
// times in one scenario.
type check struct{ scenario, id, name string }

func (c check) String() string { return c.scenario + " " + c.id + "/" + c.name }

func compareChecks(a, b check) int { return strings.Compare(a.String(), b.String()) }

// A tally is how often a check was made, by what came of it.
type tally struct {
	passed int
	failed int    // warnings included
	why    string // the last failure's message
}

// results are the tallies of one run. What a suite only informs of is left out.
type results map[check]tally

func (r results) passed() (n int) {
	for _, t := range r {
		n += t.passed
	}
	return n
}

// stamped matches a folder of results: server-SCENARIO-TIME.
var stamped = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// readResults reads what a suite wrote to dir.
func readResults(dir string) (results, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil {
		return nil, err
	}
	r := results{}
	for _, file := range files {
		folder := filepath.Base(filepath.Dir(file))
		m := stamped.FindStringSubmatch(folder)
		if m == nil {
			return nil, fmt.Errorf("folder %q is not server-SCENARIO-TIME", folder)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var checks []struct{ ID, Name, Status, ErrorMessage string }
		if err := json.Unmarshal(b, &checks); err != nil {
			return nil, fmt.Errorf("%s: %v", file, err)
		}
		for _, c := range checks {
			key := check{m[1], c.ID, strings.Join(strings.Fields(c.Name), "_")}
			t := r[key]
			switch c.Status {
			case "SUCCESS":
				t.passed++
			case "FAILURE", "WARNING":
				t.failed++
				t.why = c.ErrorMessage
			case "INFO", "SKIPPED":
			default:
				return nil, fmt.Errorf("%s: status %q is new to us", file, c.Status)
			}
			r[key] = t
		}
	}
	return r, nil
}

// worse returns the checks that fare worse in got than in want, in order: less
// often passed, be it that they were not made at all, or more often failed.
func worse(want, got results) (keys []check) {
	all := maps.Clone(want)
	maps.Copy(all, got)
	for c := range all {
		if w, g := want[c], got[c]; g.passed < w.passed || g.failed > w.failed {
			keys = append(keys, c)
		}
	}
	slices.SortFunc(keys, compareChecks)
	return keys
}

// A baseline holds the checks that are known to fail through the proxy, and the
// reasons.
type baseline map[string]string

func (b baseline) key(suite, upstream string, c check) string {
	return strings.Join([]string{suite, upstream, c.String()}, " ")
}

// parseBaseline reads lines of suite, upstream, scenario, check and reason.
func parseBaseline(text string) (baseline, error) {
	b := baseline{}
	for i, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
			continue
		case len(fields) < 5:
			return nil, fmt.Errorf("line %d: %q is not suite, upstream, scenario, check and reason", i+1, line)
		}
		key := strings.Join(fields[:4], " ")
		if b[key] != "" {
			return nil, fmt.Errorf("line %d: %s stands there twice", i+1, key)
		}
		b[key] = strings.Join(fields[4:], " ")
	}
	return b, nil
}

// inReplicas is behind an upstream where it is used by several replicas of the proxy.
const inReplicas = "-replicas"

// replicas is the baseline of several replicas that use an upstream: what is known of one
// proxy is known of them too.
func (b baseline) replicas(upstream string) baseline {
	all := maps.Clone(b)
	for key, reason := range b {
		if suite, rest, ok := strings.Cut(key, " "+upstream+inReplicas+" "); ok {
			all[suite+" "+upstream+" "+rest] = reason
		}
	}
	return all
}

// orphans is an error if there are entries of no suite or upstream that is run.
func (b baseline) orphans() error {
	for _, key := range slices.Sorted(maps.Keys(b)) {
		fields := strings.Fields(key)
		if !slices.ContainsFunc(suites, func(s suite) bool { return s.name == fields[0] }) || !slices.Contains(upstreams, strings.TrimSuffix(fields[1], inReplicas)) {
			return fmt.Errorf("baseline: %s: no such suite or upstream", key)
		}
	}
	return nil
}

// cured ends the verdict on an entry of the baseline that passes.
const cured = ": in the baseline, yet it does not fail"

// verdicts are what is wrong with got: checks that fare worse than in want and
// are not in the baseline, and entries of the baseline that do not fail.
func (b baseline) verdicts(suite, upstream string, want, got results) (wrong []string) {
	known := map[string]bool{}
	for _, c := range worse(want, got) {
		key := b.key(suite, upstream, c)
		if b[key] != "" {
			known[key] = true
			continue
		}
		w, g := want[c], got[c]
		wrong = append(wrong, fmt.Sprintf("%s: %d passed, %d failed; directly %d and %d: %s", key, g.passed, g.failed, w.passed, w.failed, g.why))
	}
	for _, key := range slices.Sorted(maps.Keys(b)) {
		if strings.HasPrefix(key, suite+" "+upstream+" ") && !known[key] {
			wrong = append(wrong, key+cured)
		}
	}
	return wrong
}

// TestConformanceCanFail: what the comparison must find.
func TestConformanceCanFail(t *testing.T) {
	a, b := check{"tools-list", "list", "List"}, check{"tools-list", "names", "Names"}
	one, failed := tally{passed: 1}, tally{failed: 1, why: "timed out"}
	const entry = "S stdio tools-list list/List "
	tests := []struct {
		name      string
		want, got results
		baseline  string
		wrong     []string // beginnings
	}{
		{"the same", results{a: one, b: failed}, results{a: one, b: failed}, "", nil},
		{"better", results{a: failed}, results{a: one}, "", nil},
		{"fails", results{a: one, b: one}, results{a: failed, b: one}, "", []string{entry[:len(entry)-1] + ": 0 passed, 1 failed; directly 1 and 0: timed out"}},
		{"not made", results{a: one, b: one}, results{b: one}, "", []string{"S stdio tools-list list/List: 0 passed, 0 failed"}},
		{"nothing made", results{a: one, b: one}, nil, "", []string{"S stdio tools-list list/List: ", "S stdio tools-list names/Names: "}},
		{"only made when failing", results{a: one}, results{a: one, b: failed}, "", []string{"S stdio tools-list names/Names: 0 passed, 1 failed; directly 0 and 0"}},
		{"one of two passes", results{a: {passed: 2}}, results{a: {passed: 1, failed: 1}}, "", []string{"S stdio tools-list list/List: 1 passed, 1 failed; directly 2 and 0"}},
		{"known", results{a: one}, results{a: failed}, entry + "an SDK bug", nil},
		{"known elsewhere", results{a: one}, results{a: failed}, "S http tools-list list/List an SDK bug", []string{"S stdio tools-list list/List: 0 passed"}},
		{"known in another suite", results{a: one}, results{a: failed}, "T stdio tools-list list/List an SDK bug", []string{"S stdio tools-list list/List: 0 passed"}},
		{"cured", results{a: one}, results{a: one}, "# comment\n\n" + entry + "an SDK bug", []string{"S stdio tools-list list/List: in the baseline"}},
		{"gone", results{b: one}, results{b: one}, entry + "an SDK bug", []string{"S stdio tools-list list/List: in the baseline"}},
	}
	for _, tt := range tests {
		b, err := parseBaseline(tt.baseline)
		if err != nil {
			t.Fatal(err)
		}
		wrong := b.verdicts("S", "stdio", tt.want, tt.got)
		if !slices.EqualFunc(wrong, tt.wrong, strings.HasPrefix) {
			t.Errorf("%s: %q\nwant %q", tt.name, wrong, tt.wrong)
		}
	}
	for _, bad := range []string{entry, entry + "x\n" + entry + "y"} {
		if b, err := parseBaseline(bad); err == nil {
			t.Errorf("baseline %q: %v", bad, b)
		}
	}
}
