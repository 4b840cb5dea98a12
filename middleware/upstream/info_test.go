package upstream

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

func TestReadInfo(t *testing.T) {
	for _, c := range []struct{ in, declared, read, odd string }{
		{`{"capabilities":{"x":7,"tools":{"listChanged":true}}}`, `{"x":7,"tools":{"listChanged":true}}`, `{"tools":{"listChanged":true}}`, ""},
		{`{"capabilities":{"logging":true,"tools":{}}}`, `{"logging":{},"tools":{}}`, `{"logging":{},"tools":{}}`, "capabilities.logging"},
		{`{"capabilities":{"logging":false,"prompts":"no","tools":{}}}`, `{"tools":{}}`, `{"tools":{}}`, "capabilities.logging capabilities.prompts"},
		{`{"capabilities":{"resources":{"subscribe":true,"listChanged":"yes"}}}`, `{}`, `{}`, "capabilities.resources"},
		{`{"capabilities":{"experimental":[],"logging":null}}`, `{"logging":null}`, `{}`, "capabilities.experimental"},
		{`{"capabilities":[],"instructions":7,"serverInfo":"s","_meta":3}`, ``, `null`, "capabilities instructions serverInfo"},
		{`{"capabilities":null}`, ``, `null`, ""},
	} {
		info, odd, err := readInfo("initialize", json.RawMessage(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		read, _ := json.Marshal(info.Capabilities)
		if string(info.Declared) != c.declared || string(read) != c.read || strings.Join(odd, " ") != c.odd {
			t.Errorf("%s: declared %s, read %s, odd %v", c.in, info.Declared, read, odd)
		}
	}
	if _, _, err := readInfo("initialize", json.RawMessage(`[]`)); err == nil {
		t.Error("a result that is no object is read")
	}
}

// TestOddCapabilities: a server that says of one thing in its own way that it has it
// is used, and that is told once.
func TestOddCapabilities(t *testing.T) {
	s := newRawServer(t)
	s.first = func(w http.ResponseWriter, r *http.Request, m rawMessage) bool {
		if m.Method == "initialize" {
			w.Header().Set("Mcp-Session-Id", "s1")
			answerJSON(w, m, `{"protocolVersion":"2025-11-25","capabilities":{"logging":true,"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`)
		}
		return m.Method == "initialize"
	}
	log := &lockedBuffer{}
	u := s.connect(Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	if len(u.Tools()) != 1 || !strings.Contains(string(u.Info().Declared), "logging") {
		t.Errorf("tools %v, info %+v", u.Tools(), u.Info())
	}
	if n := strings.Count(log.String(), "capabilities.logging"); n != 1 {
		t.Errorf("told %d times: %s", n, log)
	}
}
