package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"strings"
)

const (
	// maxRows of a part are kept; what is beyond them is counted only.
	maxRows = 10_000

	// maxRowRunes of a line in the upper part are shown: an outline is read
	// for its names.
	maxRowRunes = 110
)

// A digest says what a text is and what stands out in it, whatever the room
// that there is to tell it: a preview and an outline show the same digest. Its
// lines are slices of the text.
type digest struct {
	kind  string
	facts []string // of the first line, after kind, lines and bytes
	parts []part   // in the order to be read, best first
	picks []numLine
	calls [][]string // tool and arguments, see [call]

	ends  int  // lines of head and tail that are worth their tokens; 0 is all
	dull  int  // lines of the head that say little: a licence, imports
	brief bool // lines say little, as in a blob
}

// A numLine is a line of the text, with its number from 0.
type numLine struct {
	n    int
	line []byte
}

// A part is a list of what stands out.
type part struct {
	words string // all there is to say, in a part without rows
	title string
	rows  []row  // in the order to be read
	total int    // rows that there are, those not kept included
	share int    // percent of the room for parts that it may take; 0 is all
	even  bool   // of rows too many, show some from everywhere and not the first
	most  int    // rows shown; 0 is any number
	find  string // how to get at those not shown
}

// A row is a line of the text with its number, or words of ours about one.
type row struct {
	numLine
	text string // if not empty, instead of the line
	note string // of ours, behind the line
	rank int    // lower ranks are shown first
}

func (p *part) add(r row) {
	if p.total++; len(p.rows) < maxRows {
		p.rows = append(p.rows, r)
	}
}

// addLine adds line n as it is.
func (p *part) addLine(n int, line []byte, rank int) {
	p.add(row{numLine: numLine{n, bytes.TrimRight(line, "\r\n")}, rank: rank})
}

// addf adds words about line n, or about none if it is negative. They begin with
// the number, without the colon behind which the text itself stands.
func (p *part) addf(n, rank int, format string, args ...any) {
	if len(p.rows) == maxRows {
		p.total++
		return
	}
	text := fmt.Sprintf(format, args...)
	if n >= 0 {
		text = fmt.Sprintf("%d  %s", n+1, text)
	}
	p.add(row{numLine: numLine{n: n}, text: printable([]byte(text)), rank: rank})
}

// show is a row as the agent reads it.
func (r *row) show() string {
	if r.text != "" {
		return r.text
	}
	return fmt.Sprintf("%d: %s", r.n+1, cutLine(r.line, maxRowRunes)) + r.note
}

// digestOf makes the digest of v, once for one memo.
func digestOf(ctx context.Context, v Value) (*digest, error) {
	return memoised(v, "text-digest", func() (*digest, int64, error) {
		f := guessFormat(v.Data)
		d := &digest{kind: f.name, ends: endLines[f.name]}
		t := &ticker{ctx: ctx}
		longest(d, v.Data)
		if read := digesters[f.name]; read != nil {
			if err := read(d, v.Data, t); err != nil {
				return nil, 0, err
			}
		}
		return d, d.size(), nil
	})
}

// digesters read the kinds of text. A kind that is not here has only its ends.
var digesters = map[string]func(d *digest, data []byte, t *ticker) error{
	"log":                 digestLog,
	"access log":          digestLog,
	"diff":                digestDiff,
	"git log":             digestGitLog,
	"source":              digestSource,
	"Markdown":            digestMarkdown,
	"HTML":                digestHTML,
	"XML":                 digestXML,
	"YAML":                digestYAML,
	"INI":                 digestINI,
	"TOML":                digestINI,
	"page snapshot":       digestSnapshot,
	"stack trace":         digestTrace,
	"file list":           digestFiles,
	"matches":             digestMatches,
	"plain text":          digestPlain,
	"base64":              digestBlob,
	"binary":              digestBlob,
	"broken JSON":         digestBroken,
	"JSON Lines and text": digestMixed,
	"CSV":                 digestColumns,
	"TSV":                 digestColumns,
}

// endLines are worth showing where the upper part says what all lines are like.
var endLines = map[string]int{
	"log": 10, "access log": 8, "diff": 10, "git log": 20, "HTML": 12, "XML": 20, "page snapshot": 20, "stack trace": 25, "file list": 20, "matches": 25, "JSON Lines and text": 12,
}

// digestColumns tells the columns of a table.
func digestColumns(d *digest, data []byte, _ *ticker) error {
	var b strings.Builder
	describeColumns(&b, data)
	d.say("%s", strings.TrimSuffix(b.String(), "\n"))
	return nil
}

// longest tells of a line that is too long to be read whole. It leaps over the
// short ones.
func longest(d *digest, data []byte) {
	const long = 1000
	most, at := long, -1
	for i := 0; i < len(data); {
		if short := bytes.LastIndexByte(data[i:min(i+long, len(data))], '\n'); short >= 0 {
			i += short + 1
			continue
		}
		size := bytes.IndexByte(data[i:], '\n') + 1
		if size == 0 {
			size = len(data) - i
		}
		if size > most {
			most, at = size, i
		}
		i += size
	}
	if at >= 0 && most < len(data) {
		d.factf("longest line %s: %s bytes", Comma(bytes.Count(data[:at], []byte("\n"))+1), Comma(most))
	}
}

// say adds a part that is one line.
func (d *digest) say(format string, args ...any) {
	d.parts = append(d.parts, part{words: printable(fmt.Appendf(nil, format, args...))})
}

// factf adds to the first line.
func (d *digest) factf(format string, args ...any) {
	d.facts = append(d.facts, fmt.Sprintf(format, args...))
}

// first is the first line of a preview: what there is in all.
func (d *digest) first(v Value) string {
	parts := append([]string{d.kind, plural(countLines(v.Data), "lines"), Comma(len(v.Data)) + " bytes"}, d.facts...)
	return printable([]byte(strings.Join(parts, ", ")))
}

// size is what d keeps in memory, its text aside.
func (d *digest) size() int64 {
	n := 400 + 40*len(d.picks)
	for _, p := range d.parts {
		for _, r := range p.rows {
			n += 72 + len(r.text)
		}
	}
	return int64(n)
}
