package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/judge/judgetest"
)

// askingFile is an mcp.json with a server of 60 records and a sub-model, and more settings.
func askingFile(t *testing.T, model *judgetest.Server, entry string) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "list", InputSchema: map[string]any{"type": "object"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var rows []string
			for i := range 60 {
				rows = append(rows, fmt.Sprintf(`{"id":%d,"text":"number %d"}`, i, i))
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "[" + strings.Join(rows, ",") + "]"}}}, nil
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(web.Close)
	t.Setenv("ASK_KEY", model.Key)
	t.Setenv("OPENAI_API_KEY", "sk-of-somebody-else-12345")
	t.Setenv("RLMPROXY_E2E", "") // which is put back at the end
	os.Unsetenv("RLMPROXY_E2E")  // it is no setting, and would be warned of
	file := filepath.Join(t.TempDir(), "mcp.json")
	text := fmt.Sprintf(`{"mcpServers": {"s": {"url": "%s/mcp", "trustHints": true, "prefix": ""%s}},
		"proxySettings": {"stateDir": %q, "subModel": {"url": "%s", "model": "small", "key": "${ASK_KEY}", "inputPrice": 1, "outputPrice": 2}}}`, web.URL, entry, t.TempDir(), model.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func ran(t *testing.T, model *judgetest.Server, args ...string) (code int, out string) {
	t.Helper()
	var stdout, stderr strings.Builder
	code = run(args, strings.NewReader(""), &stdout, &stderr)
	out = stdout.String() + stderr.String()
	if strings.Contains(out, model.Key) {
		t.Errorf("%q shows the key: %s", args, out)
	}
	return code, out
}

// TestSubModelOfTheFile: the model of mcp.json is asked, with its key, unless the server's entry
// keeps its results from it; doctor says how it does.
func TestSubModelOfTheFile(t *testing.T) {
	model := judgetest.Start(t, func(_, item string) any { return strings.Contains(item, "7") })
	const arguments = `{"tool":"list","arguments":{},"question":"has it a 7?","type":"boolean","fields":["text"]}`
	file := askingFile(t, model, "")
	if code, out := ran(t, model, "call", "--config", file, "proxy_ask", arguments); code != exitOK || !strings.Contains(out, "judged 60 of 60 records · 2 calls") || !strings.Contains(out, "true: 6 (10.0%)") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if code, out := ran(t, model, "doctor", "--config", file); code != exitOK || !strings.Contains(out, "sub-model      small at "+model.URL+", answered in") {
		t.Errorf("exit code %d: %s", code, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	hurried := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(hurried, bytes.Replace(data, []byte(`"inputPrice"`), []byte(`"timeout": "200ms", "inputPrice"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	model.Fault = func(int) judgetest.Fault { return judgetest.Hanging }
	if code, out := ran(t, model, "doctor", "--config", hurried); code != exitFailed || !strings.Contains(out, "it did not answer within 200ms\n           → raise timeout in subModel") {
		t.Errorf("exit code %d: %s", code, out)
	}
	model.Fault = func(int) judgetest.Fault { return judgetest.Denied }
	if code, out := ran(t, model, "doctor", "--config", file); code != exitFailed || !strings.Contains(out, "fault    sub-model") {
		t.Errorf("exit code %d: %s", code, out)
	}
	model.Fault = nil
	before := model.Requests()
	file = askingFile(t, model, `, "subModel": false`)
	if code, out := ran(t, model, "call", "--config", file, "proxy_ask", arguments); code != exitFailed || !strings.Contains(out, "keeps this result from the sub-model") || model.Requests() != before {
		t.Errorf("exit code %d, %d requests: %s", code, model.Requests()-before, out)
	}
}

// TestDoctorOfMadeTools: a database that is away is a fault, told without its password.
func TestDoctorOfMadeTools(t *testing.T) {
	model := judgetest.Start(t, func(_, _ string) any { return true })
	t.Setenv("RLMPROXY_REGISTRY_URL", "postgres://agent:hunter2-secret@127.0.0.1:1/tools?sslmode=disable")
	t.Setenv("RLMPROXY_RUNTIME_TOOLS", "true")
	code, out := ran(t, model, "doctor", "--config", askingFile(t, model, ""))
	if code != exitFailed || !strings.Contains(out, `fault    made tools     in PostgreSQL at 127.0.0.1:1, database "tools"`) || !strings.Contains(out, "connection refused") || strings.Contains(out, "hunter2") {
		t.Errorf("exit code %d: %s", code, out)
	}
}
