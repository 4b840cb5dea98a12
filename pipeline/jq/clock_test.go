package jq

import (
	"os/exec"
	"strings"
	"testing"

	"rlmproxy/pipeline/worker"
)

func TestClock(t *testing.T) {
	for _, source := range []string{"now", ".[] | select(.t > now - 86400)", "now | todate", "def f: now; f", "[localtime]", `0 | strflocaltime("%H")`, `"\(now)"`, "{a: now}", "def now(x): x; now"} {
		if err := Check(source); code(err) != Bad || !strings.Contains(err.Error(), "hint: ") {
			t.Errorf("%s: %v", source, err)
		}
		if Compiles(source) {
			t.Errorf("%s compiles", source)
		}
	}
	for _, source := range []string{".now", "{now: 1}", "def now: 1; now", "1 as $now | $now", `"now"`, "0 | gmtime | mktime | todate", `0 | strftime("%H")`, `def f(now): now; f(1)`} {
		if err := Check(source); err != nil {
			t.Errorf("%s: %v", source, err)
		}
	}
}

// TestZone: what the system says of time and environment is not to be seen.
func TestZone(t *testing.T) {
	command := testWorker("worker")
	p := newPool(t, worker.Options{Command: func() (*exec.Cmd, error) {
		cmd, err := command()
		if err == nil {
			cmd.Env = append(cmd.Env, "TZ=America/New_York", "SECRET=1")
		}
		return cmd, err
	}})
	for program, want := range map[string]string{
		`"2024-07-01 12:00 UTC" | strptime("%Y-%m-%d %H:%M %Z") | mktime`: "1719835200\n",
		`"2024-07-01 12:00 EDT" | strptime("%Y-%m-%d %H:%M %Z") | mktime`: "1719835200\n",
		`[2024,6,1,12,0,0,0,0] | mktime`:                                  "1719835200\n",
		`0 | gmtime | strftime("%H %Z")`:                                  "\"00 UTC\"\n",
		"env, $ENV":                                                       "{}\n{}\n",
	} {
		if got := runPool(t, p, Query{"a", "", JSON, []byte("null"), program}); got != want {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
}
