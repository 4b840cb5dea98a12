package figures

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"rlmproxy/middleware/stats"
	"rlmproxy/pipeline/show"
)

func compareNames(a, b stats.Tool) int {
	return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool))
}

// View implements [tea.Model].
func (m *topModel) View() tea.View {
	v := tea.NewView(strings.Join(m.lines(), "\n"))
	v.AltScreen = true
	return v
}

// Styles of lines.
const (
	normal = ""
	strong = "1"
	faint  = "2"
	bad    = "31"
	good   = "32"
)

// styled is a line of at most the width, in a style.
func (m *topModel) styled(style, line string) string {
	line = ansi.Truncate(line, m.width, "…")
	if style == normal || !m.colours || line == "" {
		return line
	}
	return "\x1b[" + style + "m" + line + "\x1b[0m"
}

// lines are the screen, from above: what was saved, what runs, tools, the last calls, keys.
// Where it is too low, less of each is shown, and the last calls go first.
func (m *topModel) lines() (all []string) {
	if m.width == 0 || m.height == 0 {
		return nil
	}
	if m.report == nil {
		return []string{m.styled(normal, "reading …")}
	}
	all = append(all, m.styled(strong, m.title()))
	var foot []string
	for _, line := range m.keys() {
		foot = append(foot, m.styled(faint, line))
	}
	foot = foot[:min(len(foot), max(1, m.height/2))]
	if m.err != nil {
		foot = append([]string{m.styled(bad, cellOf(m.err.Error(), m.width))}, foot...)
	}
	left := m.height - len(all) - len(foot)

	runs := m.running(max(1, left/8))
	if len(runs) > left-3 {
		runs = nil
	}
	all, left = append(all, runs...), left-len(runs)

	table := toolTable(ordered(m.report.Tools), m.report.Total.Schemas, m.width)
	recent := m.recent(m.width)
	want := min(len(recent), max(left/3, left-len(table)-2)) // of which the first has the titles
	if left < 10 || want < 2 {
		want = 0
	}
	if want > 0 {
		left -= want + 1
	}
	all = append(all, m.table(table, left)...)
	if want > 0 {
		for len(all) < m.height-len(foot)-want {
			all = append(all, "")
		}
		for i, line := range recent[:want] {
			style := normal
			switch {
			case i == 0:
				style = strong
			case m.report.Recent[i-1].Outcome == "error":
				style = bad
			}
			all = append(all, m.styled(style, line))
		}
	}
	for len(all) < m.height-len(foot) {
		all = append(all, "")
	}
	all = append(all[:max(0, m.height-len(foot))], foot...)
	return all[max(0, len(all)-m.height):]
}

func (m *topModel) title() string {
	if m.report.Since.IsZero() {
		return "rlmproxy: nothing is counted yet " + m.which.of()
	}
	return "rlmproxy: " + summary(m.report, m.now)
}

// keys says what keys do, in one line or, as help, in some.
func (m *topModel) keys() []string {
	if m.help {
		return []string{
			"q esc ctrl-c  end    ↑ ↓ j k  scroll the tools    pgup pgdn home end  further",
			"s  sort by saved, calls, errors, p95 or name: now " + orders[m.order].name + "    ?  this help",
			"IN tokens of servers   OUT tokens that agents read   CUT given in part",
			"SAVED is IN less OUT. Follow-ups and schemas are what that costs.",
		}
	}
	return []string{"q end · ↑↓ scroll · s sort (" + orders[m.order].name + ") · ? help"}
}

// running is a line for each proxy that runs and one for its servers, of at most a number
// of proxies; without any, one line says so.
func (m *topModel) running(most int) (lines []string) {
	proxies := m.report.Proxies
	if len(proxies) == 0 {
		return []string{m.styled(normal, "no proxy runs "+m.which.of())}
	}
	for _, p := range proxies[:min(most, len(proxies))] {
		over := "stdio"
		if p.URL != "" {
			over = p.URL
		}
		what := p.Config
		if what == "" {
			what = "wrap"
		}
		line := fmt.Sprintf("%d  %s  %s  %s", p.PID, over, show.Plural(p.Clients, "clients"), what)
		states, odd := states(p.Servers)
		style := good
		if odd {
			style = bad
		}
		lines = append(lines, m.styled(normal, cellOf(line, m.width)), m.styled(style, "  "+cellOf(states, max(0, m.width-2))))
	}
	if more := len(proxies) - most; more > 0 {
		lines = append(lines, m.styled(faint, fmt.Sprintf("and %d more", more)))
	}
	return lines
}

// states are those of servers, the ones that are not ready first. Odd says that one has
// failed.
func states(servers []stats.Server) (line string, odd bool) {
	if len(servers) == 0 {
		return "no servers", false
	}
	by := map[string][]string{}
	var order []string
	for _, s := range servers {
		if by[s.State] == nil {
			order = append(order, s.State)
		}
		by[s.State] = append(by[s.State], s.Name)
	}
	slices.SortStableFunc(order, func(a, b string) int { return rank(a) - rank(b) })
	var parts []string
	for _, state := range order {
		parts = append(parts, state+": "+strings.Join(by[state], ", "))
	}
	return strings.Join(parts, " · "), by["failed"] != nil
}

// rank is where a state stands among others.
func rank(state string) int {
	switch state {
	case "failed":
		return 0
	case "ready":
		return 2
	case "disabled":
		return 3
	}
	return 1
}

// table is the part of the table of tools that has room.
func (m *topModel) table(table []string, room int) (lines []string) {
	if room < 2 || len(table) < 2 {
		return nil
	}
	titles, rows := table[0], table[1:]
	m.room = room - 1
	m.first = max(0, min(m.first, len(rows)-m.room))
	lines = append(lines, m.styled(strong, titles))
	for _, row := range rows[m.first:min(len(rows), m.first+m.room)] {
		lines = append(lines, m.styled(normal, row))
	}
	return lines
}

// recent are the last calls, newest first, below their titles.
func (m *topModel) recent(width int) []string {
	lines := []string{fmt.Sprintf("%-8s  %-*s  %7s  %s", "TIME", width/3, "LAST CALLS", "MS", "TOKENS")}
	for _, c := range m.report.Recent {
		name := c.Tool
		if c.Server != "" {
			name = c.Server + " " + c.Tool
		}
		name = cellOf(name, width/3)
		name += strings.Repeat(" ", max(0, width/3-ansi.StringWidth(name)))
		how := ""
		switch {
		case c.Error != "":
			how = "  " + c.Error
		case c.Outcome != "ok":
			how = "  " + c.Outcome
		case c.Cut:
			how = "  cut"
		}
		ms := fmt.Sprintf("%.1f", c.Millis)
		if c.Millis >= 100 {
			ms = show.Count(int(c.Millis))
		}
		lines = append(lines, fmt.Sprintf("%s  %s  %7s  %s", m.clock(c.Time), name, ms,
			cellOf(fmt.Sprintf("%s → %s%s  %s", show.Count(c.TokensIn), show.Count(c.TokensOut), how, cmp.Or(c.Client, c.Agent)), width)))
	}
	return lines
}

// clock is when a call began: the time of this day, else the day.
func (m *topModel) clock(t time.Time) string {
	if t = t.Local(); t.Format(time.DateOnly) != m.now.Local().Format(time.DateOnly) {
		return fmt.Sprintf("%8s", t.Format("2 Jan"))
	}
	return t.Format(time.TimeOnly)
}
