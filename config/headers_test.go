package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeaders(t *testing.T) {
	environ := []string{"TOKEN=sesame: 1", "EMPTY=", "LINES=a\nb"}
	for _, tt := range []struct {
		lines   []string
		want    map[string]string
		wantErr string
	}{
		{nil, map[string]string{}, ""},
		{[]string{"authorization:Bearer ${TOKEN}", " X-Key : a:b "}, map[string]string{"Authorization": "Bearer sesame: 1", "X-Key": "a:b"}, ""},
		{[]string{"X: ${NONE:-default}", "Y: ${env:TOKEN}"}, map[string]string{"X": "default", "Y": "sesame: 1"}, ""},
		{[]string{"Authorization=Bearer secret"}, nil, "it has no colon"},
		{[]string{"A: b", "Bearer secret"}, nil, "it has no colon (number 2 of 2)"},
		{[]string{"Bearer secret: x"}, nil, "the text before the colon is not the name of a header"},
		{[]string{": secret"}, nil, "the text before the colon is not the name of a header"},
		{[]string{"X: secret ${NONE}"}, nil, "X: ${NONE} is not set"},
		{[]string{"X: ${EMPTY}"}, nil, "X: the value is empty"},
		{[]string{"X: ${LINES}secret"}, nil, "X: the value has a line break or another control character"},
		{[]string{"x: secret", "X: secret"}, nil, "X is given twice"},
		{[]string{"X: Bearer ${keyring:api}"}, map[string]string{"X": "Bearer of the ring"}, ""},
		{[]string{"X: secret ${keyring:none}"}, nil, "X: ${keyring:none}: not there"},
	} {
		var s Server
		err := s.SetHeaders(tt.lines, Options{Environ: environ, Keyring: testRing})
		if (err == nil) != (tt.wantErr == "") || err != nil && err.Error() != tt.wantErr || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %s", tt.lines, err, tt.wantErr)
		}
		if diff := cmp.Diff(tt.want, s.Headers); err == nil && diff != "" {
			t.Errorf("%q: %s", tt.lines, diff)
		}
	}
}

// TestHeadersOfFile: what no request can carry is a mistake, without its value. It
// was found when the server was connected to, over and over. A line end after a
// value, as files that hold secrets have, is none of it.
func TestHeadersOfFile(t *testing.T) {
	environ := []string{"LINE=hunter2\n", "LINES=hunter2\nX: y"}
	for _, tt := range []struct{ header, value, err string }{
		{`"K": "Bearer ${LINE}"`, "Bearer hunter2", ""},
		{`"K": " a\tb "`, "a\tb", ""},
		{`"K": "${NONE}"`, "${NONE}", ""},
		{`"K": "Bearer ${LINES}"`, "", "mcp.json:1:53: mcpServers.a.headers.K: the value has a line break or another control character"},
		{`"bad name": "hunter2"`, "", `mcp.json:1:54: mcpServers.a.headers: not the name of a header; a name has letters, digits and -; the value comes after the colon, in its own quotes`},
		{`"Authorization: Bearer hunter2": ""`, "", `mcp.json:1:54: mcpServers.a.headers: not the name of a header; a name has letters, digits and -; the value comes after the colon, in its own quotes`},
		{`"X-Key": "hunter2", "x-key": "hunter3"`, "", "mcp.json:1:53: mcpServers.a.headers.x-key: the header is there twice"},
		{`"": "hunter2"`, "", `mcp.json:1:54: mcpServers.a.headers: not the name of a header; a name has letters, digits and -; the value comes after the colon, in its own quotes`},
	} {
		data := `{"mcpServers": {"a": {"url": "http://x", "headers": {` + tt.header + `}}}}`
		c, err := load("mcp.json", "/mcp.json", []byte(data), Options{Environ: environ})
		switch {
		case tt.err != "" && (err == nil || err.Error() != tt.err):
			t.Errorf("%s: %v, want %s", tt.header, err, tt.err)
		case tt.err == "" && (err != nil || c.Servers[0].Headers["K"] != tt.value):
			t.Errorf("%s: %v, %+v", tt.header, err, c)
		}
	}
}
