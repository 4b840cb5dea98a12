package session

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestHandshakeTypes: what a client says of itself is refused where it is of the wrong
// type, and may be said once more then.
func TestHandshakeTypes(t *testing.T) {
	var s Session
	for _, tt := range []struct{ params, want string }{
		{`{"protocolVersion":5}`, "protocolVersion must be of type string"},
		{`{"protocolVersion":"2025-11-25","capabilities":5}`, "capabilities must be of type object"},
		{`{"capabilities":{},"clientInfo":"x"}`, "clientInfo must be of type object"},
		{`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":null}`, ""},
		{`{}`, "initialized already"},
	} {
		got := ""
		if err := s.begin(json.RawMessage(tt.params)); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: %q, want %q", tt.params, got, tt.want)
		}
	}
}
