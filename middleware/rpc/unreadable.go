package rpc

import (
	"regexp"
	"sync"
)

// A message that cannot be read, for its size or since it is not JSON, may answer a
// call, which would wait for ever. Its ends often tell which: servers write the id
// first or last.

// Ends are the ends of a message that cannot be read, up to 4 KiB each.
type Ends struct{ Head, Tail []byte }

// EndsOf returns the ends of a message.
func EndsOf(message []byte) Ends {
	return Ends{message[:min(len(message), endBytes)], message[max(0, len(message)-endBytes):]}
}

// endBytes is how much of each end is kept.
const endBytes = 4 << 10

// They are compiled when they are first needed: that takes half a millisecond, which
// each process of ours would take at its start.
var (
	headID = pattern(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("[^"\\]{1,64}"|-?\d{1,18})\s*,`)
	tailID = pattern(`,\s*"id"\s*:\s*("[^"\\]{1,64}"|-?\d{1,18})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

	// What a request or a notification begins or ends with, where its id and its
	// method are written side by side.
	headMethod = pattern(`^\s*\{\s*(?:"(?:jsonrpc|id)"\s*:\s*(?:"[^"\\]{0,64}"|-?\d{1,18})\s*,\s*){0,2}"method"\s*:\s*"`)
	tailMethod = pattern(`,\s*"method"\s*:\s*"[^"\\]{0,128}"\s*(?:,\s*"(?:jsonrpc|id)"\s*:\s*(?:"[^"\\]{0,64}"|-?\d{1,18})\s*){0,2}\}\s*$`)
)

func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// id returns the message's id as written, or nil. The worst that a wrong guess does is
// to fail another call of the side that sent the message.
func (e Ends) id() []byte {
	if m := headID().FindSubmatch(e.Head); m != nil {
		return m[1]
	}
	if m := tailID().FindSubmatch(e.Tail); m != nil {
		return m[1]
	}
	return nil
}

// Answers returns the id, as written, of the call that the message would have
// answered, nil if its ends do not tell, and false if it is surely no answer.
func (e Ends) Answers() (id []byte, answer bool) {
	if headMethod().Match(e.Head) || tailMethod().Match(e.Tail) {
		return nil, false
	}
	return e.id(), true
}
