package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"rlmproxy/bench/corpus"
)

// A shape is documents of one shape, in any size, made of a file of the corpus.
type shape struct {
	name string
	file string
	form form
}

type form int

const (
	formText   form = iota // its lines
	formTable              // its lines, the first one once
	formArray              // the items of its array, in an array
	formLines              // the items of its array, one a line
	formLine               // its lines, joined by blanks
	formObject             // all of it, whatever the size asked for
)

var shapes = []shape{
	{"flat", "flights.json", formArray},
	{"flat-lines", "flights.json", formLines},
	{"nested", "webhooks.json", formArray},
	{"spec", "stripe.json", formObject},
	{"csv", "zipcodes.csv", formTable},
	{"source", "ec2.d.ts", formText},
	{"line", "ec2.d.ts", formLine},
	{"markdown", "changelog.md", formText},
	{"log", "postgres.log", formText},
}

// made keeps what ofKind returns, by kind and size.
var made = struct {
	sync.Mutex
	docs map[string][]byte
}{docs: map[string][]byte{}}

// ofKind is a document of at most size bytes, whole records or lines, short of it
// by one of them at most. Where the file is shorter, it is repeated, and each
// time [vary] changes it.
func ofKind(name string, size int) ([]byte, error) {
	key := fmt.Sprint(name, size)
	made.Lock()
	defer made.Unlock()
	if doc := made.docs[key]; doc != nil {
		return doc, nil
	}
	for _, k := range shapes {
		if k.name == name {
			doc, err := k.make(size)
			made.docs[key] = doc
			return doc, err
		}
	}
	return nil, fmt.Errorf("no kind %q", name)
}

func (k shape) make(size int) ([]byte, error) {
	file, err := corpus.Open(k.file)
	if err != nil || k.form == formObject {
		return file, err
	}
	var units [][]byte
	var open, between, end string
	switch k.form {
	case formArray, formLines:
		var items []json.RawMessage
		if err := json.Unmarshal(file, &items); err != nil {
			return nil, err
		}
		for _, item := range items {
			units = append(units, item)
		}
		open, between, end = "[", ",", "]"
		if k.form == formLines {
			open, between, end = "", "\n", "\n"
		}
	default:
		units = bytes.Split(bytes.TrimSuffix(file, []byte("\n")), []byte("\n"))
		between, end = "\n", "\n"
		if k.form == formTable {
			open, units = string(units[0])+"\n", units[1:]
		}
		if k.form == formLine {
			between, end = " ", ""
		}
	}
	doc := append(make([]byte, 0, size), open...)
	for n := 0; ; n++ {
		for i, unit := range units {
			if len(doc)+len(between)+len(unit)+len(end) > size {
				return append(doc, end...), nil
			}
			if n+i > 0 {
				doc = append(doc, between...)
			}
			doc = vary(doc, unit, n, k.form == formArray || k.form == formLines)
		}
	}
}

// vary appends the n-th repetition of text to doc, as long as text: of a quarter of
// the words of six letters or more the last two letters differ, and in numbers
// of three digits or more all digits but the first. Dates and the keys of JSON
// stay. The zeroth repetition is text itself.
func vary(doc, text []byte, n int, isJSON bool) []byte {
	from := len(doc)
	doc = append(doc, text...)
	if n == 0 {
		return doc
	}
	out := doc[from:]
	for i := 0; i < len(out); {
		c := out[i]
		if isJSON && c == '"' {
			if end, key := stringEnd(out, i); key {
				i = end
				continue
			}
		}
		start := i
		for i < len(out) && isLetter(out[i]) {
			i++
		}
		if word := out[start:i]; len(word) >= 6 && hash(word)%4 == 0 {
			turn(word[len(word)-1:], n)
			turn(word[len(word)-2:][:1], n/26)
		}
		start = i
		for i < len(out) && '0' <= out[i] && out[i] <= '9' {
			i++
		}
		if i-start >= 3 && !isDate(out, i) {
			for j := start + 1; j < i; j++ {
				out[j] = '0' + (out[j]-'0'+byte(n%10))%10
			}
		}
		if i < len(out) && !isLetter(out[i]) {
			i++
		}
	}
	return doc
}

// turn moves an ASCII letter by n places within the alphabet.
func turn(letter []byte, n int) {
	first := byte('a')
	if letter[0] < 'a' {
		first = 'A'
	}
	letter[0] = first + (letter[0]-first+byte(n%26))%26
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// isDate reports whether the number that ends at end is the year of a date, or
// the like.
func isDate(text []byte, end int) bool {
	return end < len(text) && (text[end] == '-' || text[end] == '/' || text[end] == ':')
}

func hash(word []byte) (h uint32) {
	for _, c := range word {
		h = h*31 + uint32(c)
	}
	return h
}

// stringEnd is behind the JSON string at text[i]; key tells whether a colon
// follows.
func stringEnd(text []byte, i int) (end int, key bool) {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	end = min(i+1, len(text))
	rest := bytes.TrimLeft(text[end:], " \n")
	return end, len(rest) > 0 && rest[0] == ':'
}
