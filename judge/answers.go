package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxReply bounds the text of a completion that is read.
const maxReply = 1 << 20

// read reads the answers for n items whose numbers begin with first. An item without a good answer
// has no value, and a problem. An answer for an item that was not asked about makes all of them
// doubtful, so it is an error, as is what cannot be read.
func (f *form) read(text string, first, n int) ([]Judgement, error) {
	answers, err := find(text)
	if err != nil {
		return nil, err
	}
	got := make([]Judgement, n)
	seen := make([]bool, n)
	for i := range got {
		got[i].Problem = "the model left it out"
	}
	for _, raw := range answers {
		var one struct {
			Item       *int            `json:"item"`
			Answer     json.RawMessage `json:"answer"`
			Confidence json.RawMessage `json:"confidence"`
		}
		if json.Unmarshal(raw, &one) != nil || one.Item == nil {
			return nil, errors.New("an answer without the number of its item")
		}
		i := *one.Item - first
		if i < 0 || i >= n {
			return nil, errors.New("an answer for an item that was not asked about")
		}
		if seen[i] {
			got[i] = Judgement{Problem: "the model answered twice"}
			continue
		}
		seen[i] = true
		got[i].Value, got[i].Problem = f.check(one.Answer)
		got[i].Confidence = confidence(one.Confidence)
	}
	return got, nil
}

// find finds the answers in a reply. Models that know no schema put words or a fence around them.
// A reply with two lists of answers is none.
func find(text string) ([]json.RawMessage, error) {
	if len(text) > maxReply {
		return nil, errors.New("a reply of more than 1 MB")
	}
	if at := strings.LastIndex(text, "</think>"); at >= 0 {
		text = text[at:]
	}
	var found []json.RawMessage
	lists := 0
	for range 100 { // objects, or what looks like the beginning of one
		at := strings.IndexByte(text, '{')
		if at < 0 {
			break
		}
		text = text[at:]
		var reply struct {
			Answers *[]json.RawMessage `json:"answers"`
		}
		in := json.NewDecoder(strings.NewReader(text))
		if in.Decode(&reply) != nil {
			text = text[1:]
			continue
		}
		text = text[in.InputOffset():]
		if reply.Answers != nil {
			found = *reply.Answers
			lists++
		}
	}
	if lists != 1 {
		return nil, errors.New("a reply without the JSON that was asked for")
	}
	return found, nil
}

// check is the value of an answer, or what is wrong with it.
func (f *form) check(raw json.RawMessage) (value json.RawMessage, problem string) {
	raw = bytes.TrimSpace(raw)
	var text string
	isText := json.Unmarshal(raw, &text) == nil && bytes.HasPrefix(raw, []byte{'"'})
	switch {
	case len(f.labels) > 0:
		if label := f.labels[fold(text)]; isText && label != nil {
			return label, ""
		}
		return nil, "the answer was none of the labels"
	case f.question.Type == "number":
		if number, err := strconv.ParseFloat(string(raw), 64); err == nil && len(raw) <= 40 && !math.IsInf(number, 0) && json.Valid(raw) {
			return bytes.Clone(raw), ""
		}
		return nil, "the answer was no number"
	case f.question.Type == "boolean":
		if s := string(raw); s == "true" || s == "false" {
			return bytes.Clone(raw), ""
		}
		return nil, "the answer was neither true nor false"
	}
	if text = strings.TrimSpace(text); !isText || text == "" {
		return nil, "the answer was no text"
	}
	if utf8.RuneCountInString(text) > maxAnswer {
		text = string([]rune(text)[:maxAnswer-1]) + "…"
	}
	return quote(text), ""
}

// confidence is what a model said of it, or negative.
func confidence(raw json.RawMessage) float64 {
	var c *float64
	if json.Unmarshal(raw, &c) != nil || c == nil || *c < 0 || *c > 1 {
		return -1
	}
	return *c
}
