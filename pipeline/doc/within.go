package doc

import (
	"bytes"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/show"
)

const (
	// maxBeside is how many bytes of text may stand around JSON that is one document
	// with it: previews and forms that lose nothing have room for them.
	maxBeside = 1000
	// leastWithin is how many bytes that JSON has at least.
	leastWithin = 200
	// maxStarts are the places where it is looked for.
	maxStarts = 4
)

var byteOrderMark = []byte("\ufeff")

// within finds the JSON that data is about though more stands there: a byte-order mark, a
// sentence or a fence around it, NaN in it. The Value has what data is in Whole.
func within(data []byte, memo Memo) (Value, bool) {
	text := bytes.TrimPrefix(data, byteOrderMark)
	var v Value
	switch {
	case len(text) < len(data) && IsDocument(text):
		v = Counted(JSON, text, nil)
	case len(text) < len(data) && IsLines(text):
		v = Counted(JSONLines, text, nil)
	default:
		var ok bool
		if v, ok = withNumbers(text); ok {
			break
		}
		from, to := embedded(data)
		if from == to {
			return v, false
		}
		v = Counted(JSON, data[from:to:to], nil)
		v.At = from
		v.Whole = data
	}
	if memo != nil {
		v.Memo = func(key string, build func() (any, int64, error)) (any, error) { return memo("within/"+key, build) }
	}
	return v, true
}

// Beside is the text before and behind the JSON of a document.
func (v *Value) Beside() (before, behind []byte) {
	if v.Whole == nil || v.Mended {
		return nil, nil
	}
	return v.Whole[:v.At], v.Whole[v.At+len(v.Data):]
}

// AsText is the document as it came, as text.
func (v *Value) AsText() Value {
	if v.Whole == nil {
		return *v
	}
	return Counted(Text, v.Whole, nil)
}

// embedded finds the JSON in a text whose rest is short: it begins a line, or stands
// behind a colon, and ends its line.
func embedded(text []byte) (from, to int) {
	starts := 0
	for i := 0; i < min(len(text), maxBeside) && starts < maxStarts; i++ {
		if c := text[i]; c != '{' && c != '[' {
			continue
		}
		before := bytes.TrimRight(text[:i], " \t")
		if n := len(before); n > 0 && before[n-1] != '\n' && (before[n-1] != ':' || n == i) {
			continue
		}
		starts++
		end := i + jsonscan.Prefix(text[i:], MaxDepth)
		behind := text[end:]
		line, _, _ := bytes.Cut(behind, []byte{'\n'})
		if n := end - i; n >= leastWithin && i+len(behind) <= min(maxBeside, n) && len(bytes.TrimSpace(line)) == 0 {
			return i, end
		}
	}
	return 0, 0
}

// withNumbers reads JSON in which NaN and Infinity stand, as Python writes it: they are
// null then.
func withNumbers(text []byte) (Value, bool) {
	if k := jsonscan.Kind(text); k != '{' && k != '[' || !bytes.Contains(text, []byte("NaN")) && !bytes.Contains(text, []byte("Infinity")) {
		return Value{}, false
	}
	out, n, done := make([]byte, 0, len(text)), 0, 0
	for i := 0; i < len(text); i++ {
		if text[i] == '"' {
			end := jsonscan.SkipString(text, i)
			if end <= i {
				return Value{}, false
			}
			i = end - 1
			continue
		}
		for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
			if bytes.HasPrefix(text[i:], []byte(word)) {
				out = append(append(out, text[done:i]...), "null"...)
				done = i + len(word)
				i = done - 1
				n++
				break
			}
		}
	}
	out = append(out, text[done:]...)
	kind := JSON
	if n == 0 || !IsDocument(out) {
		if kind = JSONLines; n == 0 || !IsLines(out) {
			return Value{}, false
		}
	}
	v := Counted(kind, out, nil)
	v.Whole, v.Mended = text, true
	v.Note = show.Plural(n, "numbers") + ", NaN or Infinity, became null"
	return v, true
}
