package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"rlmproxy/middleware/scan"
	"rlmproxy/pipeline/show"
)

// A Digest is what agents get of a [Report]: neither the last calls, which name agents, nor the
// processes. Lists are never null.
type Digest struct {
	Since time.Time `json:"since"`
	Total Sums      `json:"total"`
	Tools []Tool    `json:"tools"` // those that saved most come first
	Hours []Hour    `json:"hours"`
}

// Digest is what an agent gets that may see the calls of the tools of servers for which may
// holds: these alone add up to its total, and hours, which all agents' calls add up to, there
// are none. Nil is everything.
func (r *Report) Digest(may func(server, tool string) bool) *Digest {
	if may == nil {
		return &Digest{r.Since, r.Total, r.Tools, r.Hours}
	}
	d := &Digest{Since: r.Since, Tools: []Tool{}, Hours: []Hour{}}
	for _, t := range r.Tools {
		if t.Server != "" && may(t.Server, t.Tool) {
			d.Tools = append(d.Tools, t)
			d.Total.add(t.Sums)
		}
	}
	return d
}

const (
	shownTools   = 10
	shownServers = 10
	nameBytes    = 64 // of a server's or a tool's in Text
)

// Text is the digest for an agent that reads it at once: in all, by server, and the tools that
// saved most. It has under 300 tokens with ten tools.
func (d *Digest) Text() string {
	t := d.Total
	if t.Calls == 0 {
		return "no calls yet"
	}
	in := fmt.Sprintf("in %s since %s", show.Plural(int(t.Calls), "calls"), d.Since.UTC().Format(time.DateOnly))
	follow := int64(0)
	var servers, tools []Tool
	for _, tool := range d.Tools {
		if tool.Server == "" {
			follow -= tool.Saved
			continue
		}
		tools = append(tools, tool)
		at := slices.IndexFunc(servers, func(s Tool) bool { return s.Server == tool.Server })
		if at < 0 {
			at, servers = len(servers), append(servers, Tool{Server: tool.Server})
		}
		servers[at].Sums.add(tool.Sums)
	}
	slices.SortStableFunc(servers, func(a, b Tool) int { return cmp.Compare(b.Saved, a.Saved) })
	lines := []string{fmt.Sprintf("saved %d of %d tokens%s %s", t.Saved, t.TokensIn, inBrackets(t.Share()), in)}
	if follow != 0 || t.Schemas != 0 {
		lines[0] += fmt.Sprintf(", net of %d for follow-ups and %d for schemas", follow, t.Schemas)
	}
	var by []string
	for _, s := range servers[:min(shownServers, len(servers))] {
		by = append(by, fmt.Sprintf("%s %d", named(s.Server), s.Saved))
	}
	if more := len(servers) - shownServers; more > 0 {
		by = append(by, fmt.Sprintf("and %d more servers", more))
	}
	if by != nil {
		lines = append(lines, "by server: "+strings.Join(by, ", "), "tool: calls errors p50 p95 tokens-in tokens-out")
	}
	for _, tool := range tools[:min(shownTools, len(tools))] {
		lines = append(lines, fmt.Sprintf("%s: %d %d %s %s %d %d", named(tool.Tool), tool.Calls, tool.Errors, orDash(Latency(tool.P50)), orDash(Latency(tool.P95)), tool.TokensIn, tool.TokensOut))
	}
	if more := len(tools) - shownTools; more > 0 {
		lines = append(lines, fmt.Sprintf("and %s", show.Plural(more, "more tools")))
	}
	return strings.Join(lines, "\n")
}

func named(name string) string { return scan.Line(show.ClipBytes(name, nameBytes)) }

func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Share is how many percent of what servers answered is saved, rounded down: all is 100 %.
// It is "" where servers answered nothing.
func (s Sums) Share() string {
	if s.TokensIn <= 0 {
		return ""
	}
	return fmt.Sprintf("%d %%", int64(math.Floor(float64(s.Saved)/float64(s.TokensIn)*100)))
}

// Latency is a number of milliseconds that is a power of two, or "" for none.
func Latency(ms float64) string {
	switch {
	case ms == 0:
		return ""
	case ms < 1:
		return "<1ms"
	case ms < 1000:
		return fmt.Sprintf("%.0fms", ms)
	case ms < 100_000:
		return fmt.Sprintf("%.0fs", ms/1000)
	}
	return fmt.Sprintf("%.0fmin", ms/60_000)
}
