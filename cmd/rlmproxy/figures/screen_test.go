package figures

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"rlmproxy/cmd/rlmproxy/terminal"
	"rlmproxy/middleware/stats"
)

// aReport has so many tools of each of two servers, proxies and calls.
func aReport(tools, proxies, calls int) *stats.Report {
	at := time.Date(2026, 11, 3, 12, 0, 0, 0, time.Local)
	r := &stats.Report{Since: at, Total: stats.Sums{Calls: 1234, TokensIn: 1_500_000, TokensOut: 280_000, Schemas: 5000, Saved: 1_215_000}}
	for i := range tools {
		for _, server := range []string{"fs", "web"} {
			r.Tools = append(r.Tools, stats.Tool{Server: server, Tool: fmt.Sprintf("%s_tool%02d", server, i), P50: 4, P95: float64(int(2048) >> (i % 12)),
				Sums: stats.Sums{Calls: int64(i), Errors: int64(i % 3), TokensIn: int64(100 * (tools - i)), Saved: int64(90 * (tools - i))}})
		}
	}
	r.Tools = append(r.Tools, stats.Tool{Tool: "proxy_filter", Sums: stats.Sums{Calls: 40, TokensOut: 900, Saved: -900}, P50: .5, P95: .5})
	for i := range proxies {
		p := stats.Proxy{PID: 100 + i, Config: "/path/to/mcp.json", Clients: i, Servers: []stats.Server{{Name: "fs", State: "ready"}, {Name: "web", State: "failed"}, {Name: "db", State: "connecting"}}}
		if i > 0 {
			p.URL, p.Servers = "http://127.0.0.1:8080/mcp", p.Servers[:1]
		}
		r.Proxies = append(r.Proxies, p)
	}
	for i := range calls {
		c := stats.Call{Time: at.Add(-time.Duration(i) * time.Minute), Server: "fs", Tool: fmt.Sprintf("fs_tool%02d", i), Client: "editor 1", Millis: 12.34, TokensIn: 48_391, TokensOut: 980, Cut: true, Outcome: "ok"}
		if i == 1 {
			c.Outcome, c.Error, c.Millis = "error", "upstream_timeout", 60_000
		}
		r.Recent = append(r.Recent, c)
	}
	return r
}

// screen is what a terminal of a size shows of a report, after keys.
func screen(t *testing.T, m *topModel, r *stats.Report, width, height int, keys ...string) string {
	t.Helper()
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	m.Update(looked{report: r, at: time.Date(2026, 11, 3, 13, 0, 0, 0, time.Local)})
	for _, key := range keys {
		m.View() // as between two keys
		press := tea.KeyPressMsg{Code: rune(key[0]), Text: key}
		switch key {
		case "down":
			press = tea.KeyPressMsg{Code: tea.KeyDown}
		case "pgdown":
			press = tea.KeyPressMsg{Code: tea.KeyPgDown}
		case "end":
			press = tea.KeyPressMsg{Code: tea.KeyEnd}
		}
		if press.String() != key {
			t.Fatalf("%q is the key %q", press.String(), key)
		}
		m.Update(press)
	}
	return m.View().Content
}

// TestTopScreen: what is on it, in the order of its lines.
func TestTopScreen(t *testing.T) {
	for _, tt := range []struct {
		name          string
		report        *stats.Report
		width, height int
		keys          []string
		want          string
	}{
		{"all", aReport(2, 1, 2), 110, 16, nil, `
rlmproxy: saved 1.2 million of 1.5 million tokens (81 %) in 1,234 calls since 3 Nov
100  stdio  0 clients  /path/to/mcp.json
  failed: web · connecting: db · ready: fs
SERVER      TOOL                      CALLS  ERRORS  CUT   IN  OUT   SAVED  SHARE   P50   P95
fs          fs_tool00                     0       0    0  200    0     180   90 %   4ms    2s
web         web_tool00                    0       0    0  200    0     180   90 %   4ms    2s
fs          fs_tool01                     1       1    0  100    0      90   90 %   4ms    1s
web         web_tool01                    1       1    0  100    0      90   90 %   4ms    1s
follow-ups  proxy_filter                 40       0    0    0  900    -900         <1ms  <1ms
schemas     of the proxy's own tools                                -5,000


TIME      LAST CALLS                                 MS  TOKENS
12:00:00  fs fs_tool00                             12.3  48,391 → 980  cut  editor 1
11:59:00  fs fs_tool01                           60,000  48,391 → 980  upstream_timeout  editor 1
q end · ↑↓ scroll · s sort (saved) · ? help`},
		{"low, further down, by calls", aReport(10, 4, 9), 60, 15, []string{"s", "down", "down"}, `
rlmproxy: saved 1.2 million of 1.5 million tokens (81 %) in…
100  stdio  0 clients  /path/to/mcp.json
  failed: web · connecting: db · ready: fs
and 3 more
SERVER      TOOL                      CALLS   SAVED  SHARE
fs          fs_tool08                     8     180   90 %
web         web_tool08                    8     180   90 %
fs          fs_tool07                     7     270   90 %
web         web_tool07                    7     270   90 %
fs          fs_tool06                     6     360   90 %

TIME      LAST CALLS                 MS  TOKENS
12:00:00  fs fs_tool00             12.3  48,391 → 980  cut …
11:59:00  fs fs_tool01           60,000  48,391 → 980  upst…
q end · ↑↓ scroll · s sort (calls) · ? help`},
		{"narrow", aReport(1, 0, 0), 24, 8, []string{"end"}, `
rlmproxy: saved 1.2 mil…
no proxy runs of any co…
SERVER      TOOL
fs          fs_tool00
web         web_tool00
follow-ups  proxy_filter
schemas     of the prox…
q end · ↑↓ scroll · s s…`},
		{"help", aReport(0, 0, 0), 100, 9, []string{"?"}, `
rlmproxy: saved 1.2 million of 1.5 million tokens (81 %) in 1,234 calls since 3 Nov
no proxy runs of any configuration
SERVER      TOOL                      CALLS  ERRORS  CUT  IN  OUT   SAVED  SHARE   P50   P95
follow-ups  proxy_filter                 40       0    0   0  900    -900         <1ms  <1ms
schemas     of the proxy's own tools                               -5,000
q esc ctrl-c  end    ↑ ↓ j k  scroll the tools    pgup pgdn home end  further
s  sort by saved, calls, errors, p95 or name: now saved    ?  this help
IN tokens of servers   OUT tokens that agents read   CUT given in part
SAVED is IN less OUT. Follow-ups and schemas are what that costs.`},
		{"nothing", &stats.Report{}, 60, 4, nil, `
rlmproxy: nothing is counted yet of any configuration


q end · ↑↓ scroll · s sort (saved) · ? help`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := screen(t, &topModel{}, tt.report, tt.width, tt.height, tt.keys...)
			if diff := cmp.Diff(strings.Split(tt.want, "\n")[1:], strings.Split(got, "\n")); diff != "" {
				t.Errorf("%s\nas a whole:\n%s", diff, got)
			}
		})
	}
}

// TestTopFits: on a terminal of any size no line is too long, and no line is too many; and
// without colours there is no code at all, whatever names say.
func TestTopFits(t *testing.T) {
	hostile := aReport(12, 9, 30)
	hostile.Tools[0].Server = "\x1b[31mred\x1b]0;title\x07\u202e\u009b2J\r\n\t" + strings.Repeat("wide 漢字 ", 40)
	hostile.Tools[1].Tool = "\x1bc"
	hostile.Proxies[0].Config = "/tmp/\x1b[2J\n"
	hostile.Proxies[0].Servers[0].Name = "\x1b[2J\r"
	hostile.Recent[0].Client, hostile.Recent[0].Server, hostile.Recent[1].Error = "\x1b[2Jmy\x07 client\n", "\x1b\n", "\x1b"
	for _, colours := range []bool{false, true} {
		for _, width := range []int{1, 2, 9, 24, 50, 80, 149} {
			for _, height := range []int{1, 2, 3, 4, 6, 9, 13, 24, 59} {
				m := &topModel{colours: colours, which: Source{Path: "/tmp/\x1b[2J", Configuration: "c"}}
				for _, keys := range [][]string{nil, {"end"}, {"?", "pgdown", "pgdown"}, {"s", "k"}} {
					got := screen(t, m, hostile, width, height, keys...)
					m.Update(looked{report: hostile, err: errors.New("broken \x1b[2J\nfile"), at: time.Now()})
					for _, view := range []string{got, m.View().Content} {
						lines := strings.Split(view, "\n")
						if len(lines) > height {
							t.Fatalf("%d×%d: %d lines", width, height, len(lines))
						}
						for _, line := range lines {
							if w := ansi.StringWidth(line); w > width {
								t.Fatalf("%d×%d: a line of %d: %q", width, height, w, line)
							}
							if !colours && terminal.Visible(line) != line {
								t.Fatalf("%d×%d: %q", width, height, line)
							}
							if bare := ansi.Strip(line); terminal.Visible(bare) != bare || strings.Count(line, "\x1b") > 2 {
								t.Fatalf("%d×%d: %q", width, height, line)
							}
						}
					}
				}
			}
		}
	}
}

// TestTopLooks: it looks each second, shows what was read, and ends.
func TestTopLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := 0
		m := &topModel{read: func() (*stats.Report, error) { read++; return aReport(read, 0, 0), nil }}
		if v := m.View(); v.Content != "" || !v.AltScreen {
			t.Errorf("before its size is known: %+v", v)
		}
		m.Update(tea.WindowSizeMsg{Width: 80, Height: 40})
		if got := m.View().Content; !strings.HasPrefix(got, "reading") {
			t.Error(got)
		}
		msg := m.Init()()
		for n := range 3 {
			begun := time.Now()
			_, next := m.Update(msg)
			if got := strings.Count(m.View().Content, "fs_tool"); got != n+1 {
				t.Errorf("%d tools after %d times", got, n+1)
			}
			_, next = m.Update(next())
			msg = next()
			if took := time.Since(begun); took != time.Second {
				t.Errorf("the next look is after %v", took)
			}
		}
		for _, key := range []tea.KeyPressMsg{{Code: 'q', Text: "q"}, {Code: tea.KeyEscape}, {Code: 'c', Mod: tea.ModCtrl}} {
			if _, end := m.Update(key); end == nil || end() != tea.Quit() {
				t.Errorf("%s does not end it", key)
			}
		}
		if _, cmd := m.Update(tea.KeyPressMsg{Code: 'x', Text: "x"}); cmd != nil {
			t.Error("x does something")
		}
	})
}

// TestNoScreen: where it cannot be shown.
func TestNoScreen(t *testing.T) {
	for _, tt := range []struct {
		terminal   bool
		term, goos string
		want       string
	}{
		{true, "xterm-256color", "linux", ""},
		{true, "", "windows", ""},
		{true, "", "linux", "TERM is not set"},
		{true, "dumb", "linux", "TERM is dumb"},
		{false, "xterm", "linux", "needs a terminal"},
	} {
		if got := NoScreen(tt.terminal, tt.term, tt.goos); !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}
