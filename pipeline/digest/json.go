package digest

import (
	"bytes"
	"encoding/json"
	"errors"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/show"
)

// maxDepth is where the rest of the pipeline calls JSON text.
const maxDepth = 1000

var jsonStart = lazy(`^\s*(\{\s*"[^"\\\n]*"\s*:|\[\s*(\{|"|\[\s*([^\sa-zA-Z]|$)))`)

// isBrokenJSON wants what begins as JSON. Were it JSON, it would not be a text.
func isBrokenJSON(s *sample) bool {
	return jsonStart().Match(bytes.TrimPrefix(head(s.data, 1000), []byte("\ufeff")))
}

// readBrokenJSON says where JSON ends to be JSON.
func readBrokenJSON(d *Digest, r *reader) {
	var raw json.RawMessage
	err := json.Unmarshal(r.data, &raw)
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		d.Kind = "JSON nested deeper than 1,000 levels"
	case errors.As(err, &syntax):
		at := max(min(int(syntax.Offset), len(r.data))-1, 0)
		n := bytes.Count(r.data[:at], []byte("\n"))
		d.factf("%s at byte %s, line %s", syntax.Error(), show.Count(at+1), show.Count(n+1))
		if n > 0 {
			start := bytes.LastIndexByte(r.data[:at], '\n') + 1
			line, _, _ := bytes.Cut(r.data[start:], []byte("\n"))
			d.Highlights = append(d.Highlights, Line{n, line})
		}
	}
}

// isJSONAndText wants JSON on half of the lines: a log whose program also prints.
func isJSONAndText(s *sample) bool {
	n := s.count(func(line []byte) bool { return len(line) == sampleWidth && line[0] == '{' || isJSONLine(line) })
	return n > 1 && s.most(n, 50)
}

func isJSONLine(line []byte) bool {
	return len(line) > 1 && line[0] == '{' && jsonscan.Valid(line, maxDepth)
}

// readJSONAndText finds the lines that are not JSON.
func readJSONAndText(d *Digest, r *reader) {
	objects := 0
	text := Part{Title: "lines that are not JSON", Even: true}
	for n, line := range r.lines {
		if isJSONLine(bytes.TrimSpace(line)) {
			objects++
		} else if notBlank(line) {
			text.addLine(n, line, 0)
		}
	}
	d.factf("%s of them JSON", show.Count(objects))
	d.Parts = append(d.Parts, text)
}
