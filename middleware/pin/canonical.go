package pin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/scan"
)

// canonical is JSON without what means nothing: space, the order of members, how strings
// are escaped. A member that stands twice stays so: readers differ in which one counts.
func canonical(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	return appendCanonical(nil, raw)
}

type member struct {
	key   string
	value []byte
}

func members(raw json.RawMessage) []member {
	var all []member
	for key, value := range jsonscan.Fields(raw) {
		all = append(all, member{jsonscan.Unquote(key), value})
	}
	slices.SortStableFunc(all, func(a, b member) int { return strings.Compare(a.key, b.key) })
	return all
}

func appendCanonical(dst []byte, raw json.RawMessage) []byte {
	switch jsonscan.Kind(raw) {
	case '{':
		dst = append(dst, '{')
		for i, m := range members(raw) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(jsonscan.AppendQuote(dst, m.key), ':')
			dst = appendCanonical(dst, m.value)
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for i, item := range jsonscan.Items(raw) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendCanonical(dst, item)
		}
		return append(dst, ']')
	case '"':
		return jsonscan.AppendQuote(dst, jsonscan.Unquote(raw))
	}
	return append(dst, bytes.TrimSpace(raw)...)
}

// Code is a short hash of definitions: whoever accepts by it accepts these and no others.
func Code(definitions ...[]byte) string {
	h := sha256.New()
	for _, d := range definitions {
		fmt.Fprintf(h, "%d %s\n", len(d), d)
	}
	return hex.EncodeToString(h.Sum(nil)[:4])
}

// differing are the members in which two definitions differ.
func differing(a, b json.RawMessage) []string {
	of := func(raw json.RawMessage) map[string]string {
		m := map[string]string{}
		for _, each := range members(raw) {
			m[each.key] += "," + string(canonical(each.value))
		}
		return m
	}
	before, now := of(a), of(b)
	var keys []string
	for _, m := range append(members(a), members(b)...) {
		if before[m.key] != now[m.key] {
			keys = append(keys, scan.Line(m.key))
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	const most = 6
	if more := len(keys) - most; more > 0 {
		keys = append(keys[:most], fmt.Sprintf("%d more", more))
	}
	return keys
}

// Diff is what has changed from one definition to another, for a person to read: a line
// for each value and each sentence, invisible characters written out.
func Diff(pinned, seen json.RawMessage) string {
	text := diff.Diff("pinned", []byte(lines(pinned)), "now", []byte(lines(seen)))
	_, body, _ := strings.Cut(string(text), "\n") // without the line that names diff
	return body
}

func lines(raw json.RawMessage) string {
	var b strings.Builder
	if raw != nil {
		writeLines(&b, "", raw)
	}
	return b.String()
}

func writeLines(b *strings.Builder, path string, raw json.RawMessage) {
	switch jsonscan.Kind(raw) {
	case '{':
		all := members(raw)
		for _, m := range all {
			writeLines(b, strings.TrimPrefix(path+"."+scan.Line(m.key), "."), m.value)
		}
		if len(all) == 0 {
			fmt.Fprintf(b, "%s: {}\n", path)
		}
	case '[':
		n := 0
		for i, item := range jsonscan.Items(raw) {
			writeLines(b, fmt.Sprintf("%s[%d]", path, i), item)
			n++
		}
		if n == 0 {
			fmt.Fprintf(b, "%s: []\n", path)
		}
	case '"':
		if string(raw) == `""` {
			fmt.Fprintf(b, "%s: \"\"\n", path)
		}
		for line := range strings.Lines(strings.ReplaceAll(jsonscan.Unquote(raw), ". ", ".\n")) {
			fmt.Fprintf(b, "%s: %s\n", path, scan.Visible(strings.TrimSuffix(line, "\n")))
		}
	default:
		fmt.Fprintf(b, "%s: %s\n", path, raw)
	}
}
