package jsonscan

import (
	"bytes"
	"encoding/json"
)

// Quote returns s as a JSON string. It does not escape HTML, which would cost
// tokens wherever a host shows an agent the JSON itself. Each byte that is not
// UTF-8 becomes U+FFFD.
func Quote(s string) json.RawMessage {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // any string encodes
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'})
}
