package figures

import (
	"fmt"
	"io"
	"strings"
	"time"

	"rlmproxy/cmd/rlmproxy/terminal"
	"rlmproxy/middleware/stats"
	"rlmproxy/pipeline/show"
)

// A Source is where to look for what was counted.
type Source struct {
	Folder        string // the state folder
	Configuration string // or "" for all
	Path          string // of it
}

// of says of which configurations.
func (s Source) of() string {
	if s.Configuration == "" {
		return "of any configuration"
	}
	return "of " + terminal.Visible(s.Path)
}

// Print writes a report of a source as people read it.
func Print(out io.Writer, r *stats.Report, of Source, now time.Time) {
	if r.Since.IsZero() {
		fmt.Fprintln(out, "nothing is counted yet "+of.of()+", in "+terminal.Visible(of.Folder))
		if n := len(r.Proxies); n == 1 {
			fmt.Fprintln(out, "1 proxy runs and waits for calls")
			return
		} else if n > 1 {
			fmt.Fprintln(out, show.Plural(n, "proxies")+" run and wait for calls")
			return
		}
		fmt.Fprintln(out, "serve and wrap count what agents call through them: rlmproxy connect CLIENT puts the proxy in front of a client's servers")
		return
	}
	lines := toolTable(ordered(r.Tools), r.Total.Schemas, 0)
	if days := chart(r.Hours, now); days != nil {
		lines = append(append(lines, "", "saved by day, in tokens"), days...)
	}
	lines = append(lines, "", summary(r, now))
	fmt.Fprintln(out, strings.Join(lines, "\n"))
}

// ordered are tools with the proxy's own behind the others.
func ordered(tools []stats.Tool) (list []stats.Tool) {
	var own []stats.Tool
	for _, t := range tools {
		if t.Server == "" {
			own = append(own, t)
		} else {
			list = append(list, t)
		}
	}
	return append(list, own...)
}

// Removed says what a reset has removed.
func Removed(r *stats.Report, of Source, now time.Time) string {
	if r.Since.IsZero() {
		return "nothing was counted " + of.of()
	}
	return fmt.Sprintf("removed what was counted %s: %s", of.of(), summary(r, now))
}
