package figures

import (
	"context"
	"io"
	"os"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"rlmproxy/middleware/stats"
)

// Watch shows on a terminal what is counted, and what runs, until a key or ctx ends it.
func Watch(ctx context.Context, in io.Reader, out io.Writer, of Source) error {
	m := &topModel{
		read:    func() (*stats.Report, error) { return stats.Read(of.Folder, of.Configuration) },
		which:   of,
		colours: os.Getenv("NO_COLOR") == "",
	}
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithoutSignalHandler(), tea.WithInput(in), tea.WithOutput(out)).Run()
	if ctx.Err() != nil {
		return nil // a signal ends it as q does
	}
	return err
}

// NoScreen is why a terminal of this kind cannot show what changes in its place, or "".
func NoScreen(terminal bool, term, goos string) string {
	switch {
	case !terminal:
		return "top needs a terminal"
	case term == "dumb":
		return "top needs a terminal that can move its cursor: TERM is dumb"
	case term == "" && goos != "windows":
		return "top needs a terminal that can move its cursor: TERM is not set"
	}
	return ""
}

// lookTime is how often files are read.
const lookTime = time.Second

// A topModel is what the terminal shows of a report. It is used by one goroutine at a time.
type topModel struct {
	read    func() (*stats.Report, error)
	which   Source
	colours bool

	report *stats.Report // nil: not read yet
	err    error         // of what could not be read
	now    time.Time     // when it was read
	width  int           // 0: not known yet
	height int
	first  int // of the tools that are shown
	room   int // for tools, when they were shown last
	order  int // of orders
	help   bool
}

var _ tea.Model = (*topModel)(nil)

// orders are those of tools that s goes through.
var orders = []struct {
	name string
	of   func(stats.Tool) float64 // the greatest first; nil: by name
}{
	{"saved", func(t stats.Tool) float64 { return float64(t.Saved) }},
	{"calls", func(t stats.Tool) float64 { return float64(t.Calls) }},
	{"errors", func(t stats.Tool) float64 { return float64(t.Errors) }},
	{"p95", func(t stats.Tool) float64 { return t.P95 }},
	{"name", nil},
}

// A looked is what was read.
type looked struct {
	report *stats.Report
	err    error
	at     time.Time
}

// A lookAgain says that it is time to.
type lookAgain struct{}

func (m *topModel) look() tea.Msg {
	r, err := m.read()
	return looked{r, err, time.Now()}
}

// Init implements [tea.Model].
func (m *topModel) Init() tea.Cmd { return m.look }

// Update implements [tea.Model].
func (m *topModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case looked:
		m.report, m.err, m.now = msg.report, msg.err, msg.at
		m.sort()
		return m, tea.Tick(lookTime, func(time.Time) tea.Msg { return lookAgain{} })
	case lookAgain:
		return m, m.look
	case tea.KeyPressMsg:
		return m, m.pressed(msg.String())
	}
	return m, nil
}

func (m *topModel) pressed(key string) tea.Cmd {
	switch key {
	case "q", "ctrl+c", "esc":
		return tea.Quit
	case "ctrl+z":
		return tea.Suspend
	case "down", "j":
		m.first++
	case "up", "k":
		m.first--
	case "pgdown", "space":
		m.first += m.room
	case "pgup":
		m.first -= m.room
	case "home", "g":
		m.first = 0
	case "end", "G":
		m.first = maxInt
	case "s":
		m.order = (m.order + 1) % len(orders)
		m.first = 0
		m.sort()
	case "?":
		m.help = !m.help
	}
	return nil
}

// maxInt is more than there are tools: it is brought to the last when they are shown.
const maxInt = 1 << 20

// sort sorts the tools that were read last.
func (m *topModel) sort() {
	if m.report == nil {
		return
	}
	by := orders[m.order].of
	slices.SortStableFunc(m.report.Tools, func(a, b stats.Tool) int {
		if by == nil {
			return compareNames(a, b)
		}
		if x, y := by(a), by(b); x != y {
			if x > y {
				return -1
			}
			return 1
		}
		return compareNames(a, b)
	})
}
