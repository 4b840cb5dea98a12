package config

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

const valid = `{"mcpServers": {"a": {"command": "x"}}}`

func TestReadable(t *testing.T) {
	tests := []struct{ name, data string }{
		{"plain", valid},
		{"byte order mark", "\xef\xbb\xbf" + valid},
		{"comments and trailing commas", "// é\n{/* { */ \"mcpServers\": {\"a\": {\"command\": \"x\",},},}\n"},
		{"carriage returns", strings.ReplaceAll(valid, " ", "\r\n")},
	}
	for _, tt := range tests {
		if _, err := load("mcp.json", "/mcp.json", []byte(tt.data), Options{}); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestUnreadable(t *testing.T) {
	tests := []struct {
		name, data string
		want       string // of the whole error
	}{
		{"comma missing", "{\n\t\"a\": 1\n\t\"b\": 2\n}", "mcp.json:3:2: invalid character '\"' after object value (expecting ',' or '}')\n     \"b\": 2\n     ^"},
		{"columns are characters", `{"é": ü}`, "mcp.json:1:7: invalid character 'ü' at start of value\n    {\"é\": ü}\n          ^"},
		{"still open", `{"a": [1`, "mcp.json:1:9: the file ends too early: a bracket, quote or comment is still open\n    {\"a\": [1\n            ^"},
		{"bad escape", `{"a": "\q"}`, "mcp.json:1:7: not a valid string, number, true, false or null; a backslash is written \\\\, as in \"C:\\\\Users\"\n    {\"a\": \"\\q\"}\n          ^"},
		{"YAML", "mcpServers:\n  a: x", "mcp.json:1:1: not a valid string, number, true, false or null; the file is JSON and begins with {; YAML and TOML are not read\n    mcpServers:\n    ^"},
		{"YAML with a comment", "# ours\nmcpServers:\n  a: x", "mcp.json:1:1: invalid character '#' at start of value; the file is JSON, where a comment begins with //\n    # ours\n    ^"},
		{"comment of another kind", "{ # ours\n}", "mcp.json:1:3: invalid character '#' at start of value; the file is JSON, where a comment begins with //\n    { # ours\n      ^"},
		{"path of Windows", `{"a": "C:\Users\me"}`, "mcp.json:1:7: not a valid string, number, true, false or null; a backslash is written \\\\, as in \"C:\\\\Users\"\n    {\"a\": \"C:\\Users\\me\"}\n          ^"},
		{"path of Windows in env", "{\"env\": {\n\"KEY\": \"C:\\hunter2\"}}", "mcp.json:2:8: not a valid string, number, true, false or null; a backslash is written \\\\, as in \"C:\\\\Users\""},
		{"secret in env", "{\"env\": {\n\"KEY\": \"hunter2\" 1}}", "mcp.json:2:18: invalid character '1' after object value (expecting ',' or '}')"},
		{"secret without quotes", "{\"a\": {\"headers\": {\n\"KEY\": hunter2}}}", "mcp.json:2:8: not a valid string, number, true, false or null"},
		{"env closed on the line", "{\"env\": {\n\"KEY\": \"hunter2\"} 1}", "mcp.json:2:19: invalid character '1' after object value (expecting ',' or '}')"},
		{"env on the line", `{"env": {"KEY": "hunter2"} 1}`, "mcp.json:1:28: invalid character '1' after object value (expecting ',' or '}')"},
		{"long line", `{"a": "` + strings.Repeat("x", 100) + `" 1` + strings.Repeat(" ", 100) + `}`, "mcp.json:1:110: invalid character '1' after object value (expecting ',' or '}')\n    …" + strings.Repeat("x", 34) + "\" 1" + strings.Repeat(" ", 35) + "…\n" + strings.Repeat(" ", 41) + "^"},
		{"UTF-16, little end first", "\xff\xfe{\x00", "mcp.json: the file is UTF-16; save it as UTF-8"},
		{"UTF-16, no mark", "\x00{\x00}", "mcp.json: the file is UTF-16; save it as UTF-8"},
		{"binary", "\x7fELF\x02\x00\x00", "mcp.json: the file is binary, not JSON"},
		{"Latin-1", "{\n\"a\": \"\xe9\"}", "mcp.json:2:7: byte 0xe9 is not UTF-8; save the file as UTF-8"},
		{"too deep", strings.Repeat("[", 1<<20), "mcp.json:1:101: nested more than 100 levels deep"},
		{"empty", " \n", "mcp.json: the file is empty; " + example},
		{"array", "[]", "mcp.json:1:1: expected an object, found an array"},
		{"null", "null", "mcp.json:1:1: expected an object, found null"},
		{"no servers", `{"mcpServers": {}}`, "mcp.json:1:16: mcpServers: there is no server; " + example},
		{"key missing", `{"x": {}}`, "mcp.json:1:1: mcpServers is missing; " + example},
		{"key misspelt", `{"mcp_servers": {}}`, `mcp.json:1:2: mcp_servers: unknown key; did you mean "mcpServers"?`},
		{"another host's key", `{"servers": {}}`, `mcp.json:1:1: mcpServers is missing; rename "servers" to "mcpServers"`},
	}
	for _, tt := range tests {
		_, err := load("mcp.json", "/mcp.json", []byte(tt.data), Options{})
		if _, ok := errors.AsType[ErrorList](err); !ok || err.Error() != tt.want {
			t.Errorf("%s:\n got %v\nwant %s", tt.name, err, tt.want)
		}
	}
}

func TestTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	write(t, path, valid+strings.Repeat(" ", maxFileBytes))
	_, err := Load(Options{Path: path})
	if want := path + ": the file is larger than 4 MiB"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestManyMistakes guards against time that grows with mistakes × size: the
// text before each mistake is read to place it.
func TestManyMistakes(t *testing.T) {
	data := `{"mcpServers": {"a": {"command": "x", "args": [` + strings.Repeat("1,", 1<<16) + `]}}}`
	_, err := load("mcp.json", "/mcp.json", []byte(data), Options{})
	list, ok := errors.AsType[ErrorList](err)
	if !ok || len(list) != maxKept || !strings.HasSuffix(err.Error(), "\nand 150 more") {
		t.Errorf("%d mistakes: %.200v", len(list), err)
	}
}
