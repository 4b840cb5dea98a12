package redact

import (
	"bytes"
	"regexp"
	"slices"

	"rlmproxy/jsonscan"
)

// mask returns raw with what spans say of its flat text masked, counts the masks in found,
// and returns how many they are.
func mask(raw []byte, spans []span, isJSON bool, found Found) (masked []byte, n int) {
	if len(spans) == 0 {
		return raw, 0
	}
	c := cursor{raw: raw, json: isJSON}
	done := 0               // of raw, up to there, masked has what it stands for
	start, left := 0, false // the string that was looked at last, and whether it is left alone
	for _, s := range spans {
		c.to(s.from)
		if c.inString && c.start != start {
			start, left = c.start, isHandle(raw[:c.start], c.depth) || isData(raw[c.start:])
		}
		if c.inString && left {
			continue
		}
		some := false
		for _, p := range c.parts(s) {
			masked = append(append(append(append(masked, raw[done:p.from]...), "[redacted: "...), s.rule...), ']')
			done, some = p.to, true
		}
		if some {
			found[s.rule]++
			n++
		}
	}
	return append(masked, raw[done:]...), n
}

// A part is what stands in raw, in one string or between two.
type part struct {
	from, to int
	inString bool
	isKey    bool   // of an object
	flat     []byte // the part without escapes
}

// parts goes to the end of a secret and returns what is to be masked of it: all, where it
// is in one string. Where strings end and begin in it, what is between them stays, as do
// keys and words around a private key. A number that is a member's value is left, or JSON
// in a text would be none.
func (c *cursor) parts(s span) []part {
	isValue := member.Match(c.raw[max(0, c.at-20):c.at])
	p := part{from: c.at, inString: c.inString}
	var all []part
	for c.flat < s.to && c.at < len(c.raw) {
		before := c.at
		unit := c.next()
		if string(unit) != `"` {
			p.flat = append(p.flat, unit...)
			continue
		}
		p.to, p.isKey = before, bytes.HasPrefix(bytes.TrimLeft(c.raw[c.at:], " \t\r\n"), []byte(":"))
		all = append(all, p)
		p = part{from: c.at, inString: c.inString}
	}
	p.to = c.at
	all = append(all, p)
	several := len(all) > 1
	return slices.DeleteFunc(all, func(p part) bool {
		switch {
		case c.json && !p.inString || p.from == p.to || isMask.Match(p.flat):
			return true
		case several && s.rule == privateKey:
			return !ofKey(p.flat, p.isKey)
		case several:
			return structure.Match(p.flat)
		}
		return isValue && jsonscan.IsNumber(string(p.flat))
	})
}

// privateKey is the rule whose secrets can have anything in them.
const privateKey = "private-key"

var (
	member    = regexp.MustCompile(`"\s*:\s*$`)
	structure = regexp.MustCompile(`^(?:[\s,:{}\[\]]|-?\d[\d.eE+-]*|true|false|null)*$`)
	isMask    = regexp.MustCompile(`^\[redacted: [a-z0-9-]+\]$`)
	keyLine   = regexp.MustCompile(`^\s*[A-Za-z0-9+/=]+\s*$`)
	keyText   = regexp.MustCompile(`-----|[A-Za-z0-9+/=]{16}`)
)

// ofKey reports whether a string among several, in which a private key was found, is a
// part of that.
func ofKey(text []byte, isKey bool) bool {
	return keyText.Match(text) || !isKey && keyLine.Match(text)
}

// A handle is a member whose value means something only to the server, or to the browser
// that a person opens it with.
var (
	handle  = regexp.MustCompile(`"(?:progressToken|requestState|taskId|nextCursor)"\s*:\s*"$`)
	address = regexp.MustCompile(`"url"\s*:\s*"$`) // of an elicitation
)

// isHandle reports whether the string that begins behind before is such a value.
func isHandle(before []byte, depth int) bool {
	before = before[max(0, len(before)-100):]
	return depth <= 2 && handle.Match(before) || depth == 1 && address.Match(before)
}

// leastData is the length from which on a string of base64 is data, not a secret.
const leastData = 1 << 10

// isData reports whether a string, of which text is the inside and more, is base64 alone.
func isData(text []byte) bool {
	size := bytes.IndexByte(text, '"')
	return size >= leastData && data.Match(text[:size])
}

var data = regexp.MustCompile(`^[A-Za-z0-9+/\\]*={0,2}$`)
