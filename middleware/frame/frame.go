// Package frame tells what the proxy says from what servers say.
//
//	[cut: …], [complete: …], next: …, hint: …     lines that only the proxy begins a reply with
//	_meta["rlmproxy/…"]                           members that only the proxy sends
//
// Agents act on these, so a server must not be able to write them. [Strip] takes such
// members off, [Label] puts a line above a server's text that begins as one of ours, and
// [Quote] marks such lines in data that a reply of ours shows. All else keeps its bytes.
package frame

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"rlmproxy/jsonscan"
)

// Data is the line above data in a reply of ours, where the data would look like a line
// of ours.
const Data = "[data, not from the proxy:]\n"

// From is the line above what a server says, where that would look like a line of ours.
func From(server string) string {
	return fmt.Sprintf("[from server %s, not from the proxy:]\n", OneLine(string(jsonscan.Quote(server))))
}

// begins are how lines of ours begin, those of errors aside.
var begins = []string{
	"[cut:", "[complete", "[judged ", "[printed ", "[returned]", "[state is not kept", "[outline of what follows", "[around the list", "[cache_id=", "[kept as cache_id=", "[fields chosen by the operator", "[from server ", "[data, not from",
	"[cache_id ", "next:", "hint:", "--- block ",
}

// Codes are those of our errors, as docs/errors.md lists them. An error begins with its code and
// a colon.
var Codes = []string{
	"unknown_cache_id", "expired_cache_id", "evicted_cache_id", "bad_arguments", "bad_jq", "bad_pattern", "bad_program", "tool_error", "unknown_tool",
	"held_back", "store_unavailable", "model_unavailable", "upstream_unavailable", "upstream_timeout", "too_busy", "rate_limited", "limit_time", "limit_memory", "container_unavailable", "internal",
}

// Imitates reports whether text begins as a line of ours does. White space and what
// nobody sees do not count.
func Imitates(text []byte) bool {
	text = text[blank(text):]
	if len(text) == 0 || !mayBegin[text[0]] {
		return false
	}
	line := seen(text[:min(len(text), 100)])
	for _, b := range begins {
		if has(line, b) {
			return true
		}
	}
	if line[0] == '[' { // [3 of 58 items], [2 blocks joined; …]
		count := bytes.TrimLeft(line[1:], "0123456789,")
		return len(count) < len(line)-1 && (has(count, " of ") || has(count, " blocks joined"))
	}
	for _, code := range Codes {
		if has(line, code) && has(line[len(code):], ":") {
			return true
		}
	}
	return false
}

// mayBegin has the bytes with which lines of ours begin.
var mayBegin = func() (is [256]bool) {
	is['['] = true
	for _, b := range append(begins, Codes...) {
		is[b[0]] = true
	}
	return is
}()

func has(line []byte, prefix string) bool {
	return len(line) >= len(prefix) && string(line[:len(prefix)]) == prefix
}

// blank is how many bytes text begins with that nobody sees.
func blank(text []byte) int {
	for i := 0; i < len(text); {
		n := unseen(text[i:], true)
		if n == 0 {
			return i
		}
		i += n
	}
	return len(text)
}

// seen is line without invisible characters, which may stand within a word of ours.
func seen(line []byte) []byte {
	if !bytes.ContainsFunc(line, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		return line
	}
	var out []byte
	for i := 0; i < len(line); {
		if n := unseen(line[i:], false); n > 0 {
			i += n
			continue
		}
		out = append(out, line[i])
		i++
	}
	return out
}

// unseen is how many bytes the first character of text has if nobody sees it, else 0. A
// sequence that sets the colour of a terminal is one, and white space if that counts.
func unseen(text []byte, spaces bool) int {
	r, size := rune(text[0]), 1
	if r >= utf8.RuneSelf {
		r, size = utf8.DecodeRune(text)
	}
	switch {
	case r > ' ' && r < 0x7f:
		return 0
	case r == 0x1b && len(text) > 1 && text[1] == '[':
		end := 2
		for end < len(text) && (text[end] == ';' || text[end] >= '0' && text[end] <= '9') {
			end++
		}
		if end < len(text) && text[end] == 'm' {
			return end + 1
		}
		return size
	case unicode.IsSpace(r):
		if spaces {
			return size
		}
	case r == '\u2800', unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return size
	}
	return 0
}

// Quote returns text, which a reply of ours shows, with "> " before each line that begins
// as one of ours does.
func Quote(text []byte) []byte {
	var out []byte // nil: as it is so far
	done := 0
	for at := 0; at < len(text); {
		next := at + nextLine(text[at:])
		if Imitates(text[at:next]) {
			out = append(append(out, text[done:at]...), "> "...)
			done = at
		}
		at = next
	}
	if out == nil {
		return text
	}
	return append(out, text[done:]...)
}

// nextLine is where the line after the first begins, by any character that may end one.
func nextLine(text []byte) int {
	i := bytes.IndexAny(text, "\n\r\v\f\u0085\u2028\u2029")
	if i < 0 {
		return len(text)
	}
	_, size := utf8.DecodeRune(text[i:])
	return i + size
}

// OneLine is s, which others chose, as it may stand in a line of ours: line ends, control
// characters and what nobody sees are escaped as JSON has it, so that JSON means the same.
func OneLine(s string) string {
	plain := func(r rune) bool { return r == ' ' || unicode.IsGraphic(r) }
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return strings.ToValidUTF8(s, "\ufffd")
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case plain(r):
			b.WriteRune(r)
		case r < utf8.RuneSelf && strings.ContainsRune("\n\r\t", r):
			b.WriteString(map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`}[r])
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
	}
	return b.String()
}
