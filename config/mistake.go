package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNoConfig means that there is no file in any of the places where one is
// looked for. The error that wraps it lists them.
var ErrNoConfig = errors.New("no mcp.json found")

// A Mistake is one thing to repair before the proxy can start.
type Mistake struct {
	Path   string // the file as it was named; "" outside a file
	Line   int    // from 1; 0 when the mistake has no place in a file
	Column int    // in characters, from 1
	Key    string // mcpServers.git.args[1], RLMPROXY_LOG_LEVEL or --log-level
	Text   string // what was expected and what was found
	Hint   string // what to write instead, or ""
	// Excerpt is the line with a caret below the place, for a file that
	// could not be read as JSON.
	Excerpt string
}

// Error is one line, and the excerpt, if any, below it.
func (m Mistake) Error() string {
	var b strings.Builder
	if m.Path != "" {
		b.WriteString(m.Path + ":")
		if m.Line > 0 {
			fmt.Fprintf(&b, "%d:%d:", m.Line, m.Column)
		}
		b.WriteByte(' ')
	}
	if m.Key != "" {
		b.WriteString(m.Key + ": ")
	}
	b.WriteString(m.Text)
	if m.Hint != "" {
		b.WriteString("; " + m.Hint)
	}
	if m.Excerpt != "" {
		b.WriteString("\n" + m.Excerpt)
	}
	return b.String()
}

// An ErrorList is every mistake found, up to 200 in a file, in the order of the file, followed by
// those of the environment and of flags. It is never empty.
type ErrorList []Mistake

// maxShown bounds what one error prints. Whoever has more to repair will
// load again before reaching the end.
const maxShown = 50

// Error has one line for each mistake, up to 50.
func (l ErrorList) Error() string {
	var lines []string
	for i, m := range l {
		if i == maxShown {
			lines = append(lines, fmt.Sprintf("and %d more", len(l)-i))
			break
		}
		lines = append(lines, m.Error())
	}
	return strings.Join(lines, "\n")
}

// sorted orders l by place. Mistakes without one keep their order, last.
func (l ErrorList) sorted() ErrorList {
	slices.SortStableFunc(l, func(a, b Mistake) int {
		if (a.Line == 0) != (b.Line == 0) {
			return cmp.Compare(b.Line, a.Line)
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return l
}
