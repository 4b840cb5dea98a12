// Package figures is what people read of statistics: a table, and a screen that follows them.
//
//	stats.Report ─┬─► Print: tools, days, what was saved
//	              └─► Watch: the same live, with servers and the last calls
package figures

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"rlmproxy/cmd/rlmproxy/terminal"
	"rlmproxy/middleware/stats"
	"rlmproxy/pipeline/show"
)

// amount is a number of tokens: all digits up to a million.
func amount(n int64) string {
	for _, unit := range []struct {
		of   float64
		name string
	}{{1e12, "trillion"}, {1e9, "billion"}, {1e6, "million"}} {
		if math.Abs(float64(n)) >= unit.of {
			return fmt.Sprintf("%.1f %s", float64(n)/unit.of, unit.name)
		}
	}
	return show.Count(int(n))
}

// day is the day of t, with its year if that is not the year of now.
func day(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Year() == now.Year() {
		return t.Format("2 Jan")
	}
	return t.Format("2 Jan 2006")
}

// summary says in a line what was saved.
func summary(r *stats.Report, now time.Time) string {
	t := r.Total
	in := fmt.Sprintf("in %s since %s", show.Plural(int(t.Calls), "calls"), day(r.Since, now))
	switch {
	case r.Since.IsZero():
		return "no calls yet"
	case t.Saved < 0: // as where nothing was long enough
		return fmt.Sprintf("saved nothing: servers answered %s tokens, agents read %s %s", amount(t.TokensIn), amount(t.TokensOut+t.Schemas), in)
	case t.TokensIn == 0:
		return "saved nothing " + in
	}
	return fmt.Sprintf("saved %s of %s tokens (%s) %s", amount(t.Saved), amount(t.TokensIn), t.Share(), in)
}

// In the place of a server: for what agents read of kept results, and for what reached none.
const (
	followUp = "follow-ups"
	noServer = "no server"
)

// A column of the table of tools. Those with the lowest weight are left out first where a
// line is too narrow.
type column struct {
	title  string
	weight int
	cell   func(stats.Tool) string
}

func counted(n int64) string { return show.Count(int(n)) }

var columns = []column{
	{"SERVER", 9, func(t stats.Tool) string {
		switch {
		case t.Server != "":
			return t.Server
		case strings.HasPrefix(t.Tool, "proxy_") || t.Tool == "resources/read":
			return followUp
		}
		return noServer
	}},
	{"TOOL", 9, func(t stats.Tool) string { return t.Tool }},
	{"CALLS", 7, func(t stats.Tool) string { return counted(t.Calls) }},
	{"ERRORS", 3, func(t stats.Tool) string { return counted(t.Errors) }},
	{"CUT", 2, func(t stats.Tool) string { return counted(t.Cut) }},
	{"IN", 5, func(t stats.Tool) string { return counted(t.TokensIn) }},
	{"OUT", 5, func(t stats.Tool) string { return counted(t.TokensOut) }},
	{"SAVED", 8, func(t stats.Tool) string { return counted(t.Saved) }},
	{"SHARE", 6, func(t stats.Tool) string { return t.Share() }},
	{"P50", 1, func(t stats.Tool) string { return stats.Latency(t.P50) }},
	{"P95", 4, func(t stats.Tool) string { return stats.Latency(t.P95) }},
}

// names is the number of columns that are names, and so begin at the left.
const names = 2

// nameWidth bounds a name in a table, in cells of a terminal.
const nameWidth = 40

// toolTable is the table of tools as lines of at most a width, 0 being any; the first has
// the titles. The last is what tools/list cost, if anything.
func toolTable(tools []stats.Tool, schemas int64, width int) []string {
	rows := [][]string{{}}
	for _, c := range columns {
		rows[0] = append(rows[0], c.title)
	}
	for _, t := range tools {
		row := make([]string, len(columns))
		for i, c := range columns {
			row[i] = c.cell(t)
		}
		rows = append(rows, row)
	}
	if schemas > 0 {
		row := make([]string, len(columns))
		row[0], row[1] = "schemas", "of the proxy's own tools"
		for i, c := range columns {
			if c.title == "SAVED" {
				row[i] = counted(-schemas)
			}
		}
		rows = append(rows, row)
	}
	return layout(rows, width)
}

// layout aligns the cells of rows, of all columns that have room.
func layout(rows [][]string, width int) []string {
	widths := make([]int, len(columns))
	for _, row := range rows {
		for i := range row {
			if i < names {
				row[i] = cellOf(row[i], nameWidth)
			}
			widths[i] = max(widths[i], ansi.StringWidth(row[i]))
		}
	}
	shown := make([]bool, len(columns))
	left := width
	for weight := 9; weight > 0; weight-- {
		for i, c := range columns {
			if c.weight == weight {
				left -= widths[i] + gap
				shown[i] = width == 0 || left+gap >= 0 || i < names
			}
		}
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			if !shown[i] {
				continue
			}
			pad := strings.Repeat(" ", widths[i]-ansi.StringWidth(cell))
			if i >= names {
				cell, pad = pad+cell, ""
			}
			if b.Len() > 0 {
				b.WriteString(strings.Repeat(" ", gap))
			}
			b.WriteString(cell + pad)
		}
		lines[n] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// gap is between two columns.
const gap = 2

// cellOf is text of anybody as a line that a terminal shows, of at most a width.
func cellOf(text string, width int) string {
	text = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(text)
	return ansi.Truncate(terminal.Visible(text), width, "…")
}

const (
	chartDays  = 14
	chartWidth = 40
)

// chart shows what was saved on each of the last days, as bars; nil for a single day.
func chart(hours []stats.Hour, now time.Time) (lines []string) {
	start := func(t time.Time) time.Time {
		y, m, d := t.Local().Date()
		return time.Date(y, m, d, 0, 0, 0, 0, time.Local)
	}
	saved := map[time.Time]int64{}
	first, most := start(now), int64(1)
	for _, h := range hours {
		d := start(h.Begin)
		if d.After(start(now)) || d.Before(start(now).AddDate(0, 0, 1-chartDays)) {
			continue
		}
		saved[d] += h.Saved
		if d.Before(first) {
			first = d
		}
	}
	for _, n := range saved {
		most = max(most, n)
	}
	if first.Equal(start(now)) {
		return nil
	}
	for d := first; !d.After(now); d = d.AddDate(0, 0, 1) {
		bar := strings.Repeat("█", int(math.Round(float64(max(saved[d], 0))/float64(most)*chartWidth)))
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%6s  %-*s  %s", d.Format("2 Jan"), chartWidth, bar, amount(saved[d])), " "))
	}
	return lines
}
