package jsonscan

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Quote returns s as a JSON string. It does not escape HTML, which would cost
// tokens wherever a host shows an agent the JSON itself. Each byte that is not
// UTF-8 becomes U+FFFD.
func Quote(s string) json.RawMessage { return AppendQuote(nil, s) }

// AppendQuote appends [Quote] of s.
func AppendQuote(dst []byte, s string) []byte {
	isPlain := true
	for i := 0; i < len(s) && isPlain; i++ {
		isPlain = !ends[s[i]] && s[i] < utf8.RuneSelf
	}
	if isPlain { // as most strings are
		return append(append(append(dst, '"'), s...), '"')
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // any string encodes
	return append(dst, bytes.TrimSuffix(out.Bytes(), []byte{'\n'})...)
}
