package jq

import (
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"
	"unsafe"

	"github.com/itchyny/gojq"
)

// grouped makes of pairs of a key and a value an object: for each key its values.
func grouped(_ any, args []any) any {
	made := map[string]any{}
	for _, pair := range args[0].([]any) {
		key, ok := pair.([]any)[0].(string)
		if !ok {
			v := pair.([]any)[0]
			return fmt.Errorf("expected a string for object key but got: %s (%s)", gojq.TypeOf(v), gojq.Preview(v))
		}
		list, _ := made[key].([]any)
		made[key] = append(list, pair.([]any)[1])
	}
	return made
}

// objectOf is grouped with the last value of each key alone.
func objectOf(v any, args []any) any {
	out := grouped(v, args)
	if made, ok := out.(map[string]any); ok {
		for key, values := range made {
			list := values.([]any)
			made[key] = list[len(list)-1]
		}
	}
	return out
}

// A lookup knows what is in the list, and where the characters of the text are, that a
// program asked for last.
type lookup struct {
	off bool // the program may write to lists

	list   []any
	places map[any]int // of the items that scalar takes: where each is first

	text    string
	offsets []int // of each 1,000th character
}

// smallList is as long as a list may be to be looked through each time.
const smallList = 32

// position is where a list has an item that equals x, or null.
func (l *lookup) position(v any, args []any) any {
	list, x := v.([]any), args[0]
	key, plain := scalar(x)
	if l.off || !plain || len(list) <= smallList {
		for i, item := range list {
			if gojq.Compare(item, x) == 0 {
				return i
			}
		}
		return nil
	}
	if len(l.list) != len(list) || &l.list[0] != &list[0] {
		l.list, l.places = list, map[any]int{}
		for i, item := range list {
			key, plain := scalar(item)
			if _, has := l.places[key]; plain && !has {
				l.places[key] = i
			}
		}
	}
	if at, has := l.places[key]; has {
		return at
	}
	return nil
}

// scalar is v as equal values have it alike: strings, and whole numbers that a float has
// exactly. Nothing else equals one of these.
func scalar(v any) (key any, ok bool) {
	const exact = 1 << 53
	switch v := v.(type) {
	case string:
		return v, true
	case int:
		return v, v > -exact && v < exact
	case json.Number:
		f, err := v.Float64()
		return int(f), err == nil && math.Abs(f) < exact && f == math.Trunc(f)
	case float64:
		return int(v), math.Abs(v) < exact && v == math.Trunc(v)
	}
	return nil, false
}

// cut is a part of a text, from and to a character.
func (l *lookup) cut(v any, args []any) any {
	text := v.(string)
	if len(text) != len(l.text) || unsafe.StringData(text) != unsafe.StringData(l.text) {
		l.text, l.offsets = text, nil
		n := 0
		for i := range text {
			if n%1000 == 0 {
				l.offsets = append(l.offsets, i)
			}
			n++
		}
		l.offsets = append(l.offsets, n) // last, how many there are
	}
	count := l.offsets[len(l.offsets)-1]
	bound := func(v any, none int) int {
		n, ok := gojq.ToInt(v)
		if !ok {
			return none
		}
		if n < 0 {
			n += count
		}
		return min(max(n, 0), count)
	}
	offset := func(n int) int {
		if n == count {
			return len(text)
		}
		at := l.offsets[n/1000]
		for range n % 1000 {
			_, width := utf8.DecodeRuneInString(text[at:])
			at += width
		}
		return at
	}
	from, to := bound(args[0], 0), bound(args[1], count)
	if from >= to {
		return ""
	}
	return text[offset(from):offset(to)]
}
