package figures

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/middleware/stats"
)

// TestSummary: the line that says what was saved.
func TestSummary(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.Local)
	since := time.Date(2026, 11, 3, 12, 0, 0, 0, time.Local)
	for _, tt := range []struct {
		total stats.Sums
		since time.Time
		want  string
	}{
		{stats.Sums{Calls: 1234, TokensIn: 1_500_000, TokensOut: 270_000, Schemas: 14_500, Saved: 1_215_500}, since, "saved 1.2 million of 1.5 million tokens (81 %) in 1,234 calls since 3 Nov"},
		{stats.Sums{Calls: 1, TokensIn: 48_391, TokensOut: 980, Saved: 47_411}, since.AddDate(-1, 0, 0), "saved 47,411 of 48,391 tokens (97 %) in 1 call since 3 Nov 2025"},
		{stats.Sums{Calls: 9, TokensIn: 2_000_000_000, Saved: 1_999_999_999}, since, "saved 2.0 billion of 2.0 billion tokens (99 %) in 9 calls since 3 Nov"},
		{stats.Sums{Calls: 2, TokensIn: 100, TokensOut: 100, Schemas: 646, Saved: -646}, since, "saved nothing: servers answered 100 tokens, agents read 746 in 2 calls since 3 Nov"},
		{stats.Sums{Schemas: 646, Saved: -646}, since, "saved nothing: servers answered 0 tokens, agents read 646 in 0 calls since 3 Nov"},
		{stats.Sums{Calls: 1}, since, "saved nothing in 1 call since 3 Nov"},
		{stats.Sums{}, time.Time{}, "no calls yet"},
	} {
		if got := summary(&stats.Report{Total: tt.total, Since: tt.since}, now); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// TestNothingIsCounted: what runs is said where there is nothing else to say.
func TestNothingIsCounted(t *testing.T) {
	for n, want := range []string{"serve and wrap count ", "1 proxy runs and waits for calls\n", "2 proxies run and wait for calls\n"} {
		var out strings.Builder
		Print(&out, &stats.Report{Proxies: make([]stats.Proxy, n)}, Source{Folder: "state"}, time.Now())
		if _, second, _ := strings.Cut(out.String(), "\n"); !strings.HasPrefix(second, want) {
			t.Errorf("%d proxies: %s", n, second)
		}
	}
}

// TestChart: bars of the last days, those without calls between others too.
func TestChart(t *testing.T) {
	now := time.Date(2026, 11, 22, 1, 0, 0, 0, time.Local)
	hour := func(ago int, saved int64) stats.Hour {
		return stats.Hour{Begin: now.Add(-time.Duration(ago) * time.Hour), Sums: stats.Sums{Saved: saved}}
	}
	bar := func(n int) string { return strings.Repeat("█", n) + strings.Repeat(" ", chartWidth-n) }
	for _, tt := range []struct {
		name  string
		hours []stats.Hour
		want  []string
	}{
		{"none", nil, nil},
		{"today", []stats.Hour{hour(1, 5), hour(0, 5)}, nil},
		{"days", []stats.Hour{hour(50, 500_000), hour(49, 500_000), hour(26, -800), hour(0, 2_000_000), hour(-48, 7)}, []string{
			"19 Nov  " + bar(10) + "  500,000", "20 Nov  " + bar(10) + "  499,200", "21 Nov  " + bar(0) + "  0", "22 Nov  " + bar(40) + "  2.0 million"}},
		{"too old", []stats.Hour{hour(24*14+2, 5)}, nil},
		{"only costs", []stats.Hour{hour(2, -5)}, []string{"21 Nov  " + bar(0) + "  -5", "22 Nov  " + bar(0) + "  0"}},
	} {
		if diff := cmp.Diff(tt.want, chart(tt.hours, now)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}
