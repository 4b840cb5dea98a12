package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
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
		end := skipString(next, 0)
		if rest := bytes.TrimLeft(next[min(end, len(next)):], " \t\r\n"); len(rest) == 0 || rest[0] != ':' {
			return ""
		}
	}
	return "broken JSON"
}

// guessMixed wants JSON on half of the lines. With JSON on all, Recognise had it.
func guessMixed(s *sniffed) string {
	n := s.count(func(line []byte) bool {
		return len(line) > 1 && line[0] == '{' && (len(line) == maxSniffLine || isContainer(line))
	})
	if n > 1 && s.most(n, 50) {
		return "JSON Lines and text"
	}
	return ""
}

// digestMixed finds the lines that are not JSON.
func digestMixed(d *digest, data []byte, t *ticker) error {
	n, good := 0, 0
	odd := part{title: "lines that are not JSON", even: true}
	for line := range bytes.Lines(data) {
		if err := t.err(); err != nil {
			return err
		}
		if s := bytes.TrimSpace(line); len(s) > 0 {
			if s[0] == '{' && isContainer(s) {
				good++
			} else {
				odd.addLine(n, line, 0)
			}
		}
		n++
	}
	d.factf("%s of them JSON", Comma(good))
	d.parts = append(d.parts, odd)
	if len(odd.rows) > 0 {
		d.calls = append(d.calls, []string{"proxy_filter", "offset", strconv.Itoa(max(odd.rows[0].n-2, 0)), "limit", "5"})
	}
	return nil
}

// digestBroken says where JSON ends to be JSON.
func digestBroken(d *digest, data []byte, _ *ticker) error {
	var raw json.RawMessage
	err := json.Unmarshal(data, &raw)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset := min(int(syntax.Offset), len(data))
		at := bytes.Count(data[:max(offset-1, 0)], []byte("\n"))
		d.factf("%s at byte %s, line %s", syntax.Error(), Comma(offset), Comma(at+1))
		if at > 0 {
			d.picks = append(d.picks, lineAt(data, at, max(offset-1, 0)))
			d.calls = append(d.calls, []string{"proxy_filter", "offset", strconv.Itoa(max(at-5, 0)), "limit", "10"})
		}
	} else if err == nil {
		d.kind = "JSON nested deeper than 1,000 levels"
	}
	return nil
}

// lineAt is line n, which holds byte offset.
func lineAt(data []byte, n, offset int) numLine {
	offset = min(offset, len(data)-1)
	start := bytes.LastIndexByte(data[:offset], '\n') + 1
	end := bytes.IndexByte(data[start:], '\n')
	if end < 0 {
		end = len(data) - start
	}
	return numLine{n, data[start : start+end]}
}
