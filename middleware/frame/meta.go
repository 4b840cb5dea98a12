package frame

import (
	"bytes"
	"encoding/json"
	"strings"

	"rlmproxy/jsonscan"
)

// ours is how the names of our members of _meta begin.
const ours = "rlmproxy/"

// metaDepth is how deep in a message a _meta may be that anybody reads: a task's result
// has content with a resource within. It also bounds the work on a hostile one.
const metaDepth = 10

// Strip returns JSON of a server's without those members of any _meta that only we send.
// Structured content is data and stays as it is.
func Strip(raw json.RawMessage) json.RawMessage {
	if !mayHaveOurs(raw) {
		return raw
	}
	return strip(raw, metaDepth)
}

// mayHaveOurs looks for our prefix, however JSON may spell it. Of its letters x is the
// rarest, so this looks at every x, or what stands for one.
func mayHaveOurs(raw []byte) bool {
	return anyX(raw, func(at int) bool {
		rest, ok := after(raw[at+1:], 'y', `\u0079`)
		if ok {
			_, ok = after(rest, '/', `\`)
		}
		before := raw[max(0, at-len(`\u0072`)*len("rlmpro")):at]
		return ok && (bytes.HasSuffix(before, []byte("rlmpro")) || bytes.IndexByte(before, '\\') >= 0)
	})
}

// anyX reports whether f does so for the place of any x in raw, or an x is spelled in a way
// that hardly any encoder uses.
func anyX(raw []byte, f func(at int) bool) bool {
	for at := 0; ; at++ {
		i := bytes.IndexByte(raw[at:], 'x')
		if i < 0 {
			return bytes.Contains(raw, []byte(`\u0078`))
		}
		if at += i; f(at) {
			return true
		}
	}
}

// after is what follows a character in raw, which may be spelled as it is or begin as
// escape does.
func after(raw []byte, plain byte, escape string) (rest []byte, ok bool) {
	switch {
	case len(raw) > 0 && raw[0] == plain:
		return raw[1:], true
	case bytes.HasPrefix(raw, []byte(escape)):
		return raw[len(escape):], true
	}
	return nil, false
}

func strip(value json.RawMessage, depth int) json.RawMessage {
	if len(value) == 0 || depth == 0 {
		return value
	}
	switch value[0] {
	case '[':
		return eachOf(value, func(element json.RawMessage) json.RawMessage { return strip(element, depth-1) })
	case '{':
		out, err := jsonscan.Rewrite(value, func(key string, member json.RawMessage) json.RawMessage {
			switch {
			case key == "structuredContent":
				return member
			case key == "_meta" && member[0] == '{':
				return withoutOurs(member)
			}
			return strip(member, depth-1)
		})
		if err == nil {
			return out
		}
	}
	return value
}

// withoutOurs is a _meta without the members that only we send.
func withoutOurs(meta json.RawMessage) json.RawMessage {
	out, err := jsonscan.Rewrite(meta, func(key string, value json.RawMessage) json.RawMessage {
		if strings.HasPrefix(key, ours) {
			return nil
		}
		return value
	})
	if err != nil {
		return json.RawMessage("{}")
	}
	return out
}
