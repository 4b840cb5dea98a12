package digest

import (
	"bytes"
	"encoding/json"
	"errors"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/show"
)

// guessBroken wants what begins as JSON and is none, or Recognise had it.
func guessBroken(s *sniffed) string {
	t := bytes.TrimLeft(s.data[:min(len(s.data), 1000)], " \t\r\n\ufeff")
	if len(t) < 2 || t[0] != '{' && t[0] != '[' {
		return ""
	}
	next := bytes.TrimLeft(t[1:], " \t\r\n")
	if len(next) == 0 || !(next[0] == '"' || t[0] == '[' && (next[0] == '{' || next[0] == '[') || t[0] == '{' && next[0] == '}') {
		return ""
	}
	if t[0] == '[' && next[0] == '[' && (len(next) < 2 || isAlpha(next[1])) { // [[section]]
		return ""
	}
	if t[0] == '{' && next[0] == '"' {
		end := stringEnd(next, 0)
		if rest := bytes.TrimLeft(next[min(end, len(next)):], " \t\r\n"); len(rest) == 0 || rest[0] != ':' {
			return ""
		}
	}
	return "broken JSON"
}

// guessMixed wants JSON on half of the lines. With JSON on all, Recognise had it.
func guessMixed(s *sniffed) string {
	n := s.count(func(line []byte) bool {
		return len(line) > 1 && line[0] == '{' && (len(line) == maxSniffLine || isJSON(line))
	})
	if n > 1 && s.most(n, 50) {
		return "JSON Lines and text"
	}
	return ""
}

// digestMixed finds the lines that are not JSON.
func digestMixed(d *Digest, data []byte, t *ticker) error {
	n, good := 0, 0
	odd := Part{Title: "lines that are not JSON", Even: true}
	for line := range bytes.Lines(data) {
		if err := t.err(); err != nil {
			return err
		}
		if s := bytes.TrimSpace(line); len(s) > 0 {
			if s[0] == '{' && isJSON(s) {
				good++
			} else {
				odd.addLine(n, line, 0)
			}
		}
		n++
	}
	d.factf("%s of them JSON", show.Count(good))
	d.Parts = append(d.Parts, odd)
	if len(odd.Rows) > 0 {
		d.page(max(odd.Rows[0].N-2, 0), 5)
	}
	return nil
}

// digestBroken says where JSON ends to be JSON.
func digestBroken(d *Digest, data []byte, _ *ticker) error {
	var raw json.RawMessage
	err := json.Unmarshal(data, &raw)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset := min(int(syntax.Offset), len(data))
		at := bytes.Count(data[:max(offset-1, 0)], []byte("\n"))
		d.factf("%s at byte %s, line %s", syntax.Error(), show.Count(offset), show.Count(at+1))
		if at > 0 {
			d.Picks = append(d.Picks, lineAt(data, at, max(offset-1, 0)))
			d.page(max(at-5, 0), 10)
		}
	} else if err == nil {
		d.Kind = "JSON nested deeper than 1,000 levels"
	}
	return nil
}

// lineAt is line n, which holds byte offset.
func lineAt(data []byte, n, offset int) Line {
	offset = min(offset, len(data)-1)
	start := bytes.LastIndexByte(data[:offset], '\n') + 1
	end := bytes.IndexByte(data[start:], '\n')
	if end < 0 {
		end = len(data) - start
	}
	return Line{n, data[start : start+end]}
}

// maxDepth is where the rest of the pipeline calls JSON text.
const maxDepth = 1000

// isJSON reports a line that is JSON.
func isJSON(line []byte) bool { return jsonscan.Valid(line, maxDepth) }

// stringEnd returns the offset behind the JSON string that starts at i.
func stringEnd(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(data)
}
