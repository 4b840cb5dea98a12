package session

import (
	"bytes"
	"encoding/json"
	"strings"

	"rlmproxy/jsonscan"
)

// quoted writes s as JSON, without escaping HTML.
func quoted(s string) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // any string encodes
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'})
}

// stringOf is a member of an object that is a string, or "". Of a repeated one the last
// counts.
func stringOf(object json.RawMessage, member string) string {
	var s string
	if value := jsonscan.Member(object, member); len(value) > 0 && value[0] == '"' {
		_ = json.Unmarshal(value, &s)
	}
	return s
}

// clip is what an error may repeat of a request.
func clip(s string) string {
	if len(s) <= 80 {
		return s
	}
	return strings.ToValidUTF8(s[:80], "") + "…"
}
