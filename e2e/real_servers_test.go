package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// modules is a large folder that is there whenever the servers are.
func modules(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestWrapFilesystem(t *testing.T) {
	dir := modules(t)
	s := proxy(t, append(append([]string{"wrap", "--"}, real(t, "mcp-server-filesystem")...), dir)...)
	if tools := s.tools(); !slices.Contains(tools, "directory_tree") {
		t.Fatalf("tools %v, want them unprefixed", tools)
	}
	tree := s.read("directory_tree", fmt.Sprintf(`{"path":%q}`, dir))
	first, _, _ := strings.Cut(tree.Content[0].Text, "\n")
	id := tree.Meta.Result.CacheID
	if !strings.HasPrefix(first, "[cut: ~") || !strings.HasSuffix(first, " tokens shown · cache_id="+id+"]") {
		t.Errorf("first line %q", first)
	}
	if tree.Meta.Result.ShownTokens >= 2000 || tree.Meta.Result.Tokens < 50_000 {
		t.Errorf("tokens %+v, want under 2,000 of over 50,000", tree.Meta.Result)
	}
	tests := []struct{ tool, args, want string }{
		{"proxy_explore", ``, "[].children"},
		{"proxy_explore", `,"path":"[3].children"`, "name"},
		{"proxy_filter", `,"jq":"[.. | objects | select(.type==\"file\") | .name] | length > 1000"`, "true"},
		{"proxy_filter", `,"fields":["name"],"limit":2`, "[2 of "},
		{"proxy_search", `,"pattern":"zod\\.d\\.[a-z]+","mode":"regex"`, "match"},
		{"proxy_search", `,"pattern":"express router","mode":"bm25"`, "express"},
		{"proxy_search", `,"pattern":"pakage.jsn","mode":"fuzzy"`, "package.json"},
		{"proxy_search", `,"pattern":"LICENSE","mode":"context","context_type":"lines"`, "LICENSE"},
	}
	for _, tt := range tests {
		r := s.read(tt.tool, `{"cache_id":"`+id+`"`+tt.args+`}`)
		if r.IsError || !strings.Contains(r.Content[0].Text, tt.want) {
			t.Errorf("%s %s: %.600s\nwant %s", tt.tool, tt.args, r.Content[0].Text, tt.want)
		}
	}
}

// TestManyServers compares calls through mcp.json with direct ones, while one
// of the servers never answers.
func TestManyServers(t *testing.T) {
	everything := real(t, "mcp-server-everything")
	s := proxy(t, "serve", "--config", configure(t, map[string][]string{
		"filesystem": append(real(t, "mcp-server-filesystem"), modules(t)),
		"everything": everything,
		"memory":     real(t, "mcp-server-memory"),
		"silent":     {"sleep", "1000"},
	}))
	tools := s.tools()
	for _, want := range []string{"filesystem_read_text_file", "everything_echo", "memory_read_graph"} {
		if !slices.Contains(tools, want) {
			t.Errorf("no %s in %v", want, tools)
		}
	}
	direct := open(t, nil, everything...)
	for _, tt := range []struct{ tool, args string }{
		{"get-tiny-image", `{}`},
		{"get-structured-content", `{"location":"New York"}`},
		{"get-annotated-message", `{"messageType":"error","includeImage":true}`},
		{"get-resource-links", `{"count":3}`},
		{"get-resource-reference", `{"resourceType":"Text","resourceId":1}`},
		{"echo", `{"message":"é ☃ 𝄞"}`},
		{"get-sum", `{"a":1,"b":"x"}`},
	} {
		got, gotErr := s.try("everything_"+tt.tool, tt.args)
		want, wantErr := direct.try(tt.tool, tt.args)
		if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) || dropTimes(string(got)) != dropTimes(string(want)) {
			t.Errorf("%s:\n%.500s %v\ndirectly\n%.500s %v", tt.tool, got, gotErr, want, wantErr)
		}
	}
	if got := s.text("memory_create_entities", `{"entities":[]}`); !strings.Contains(got, "[") {
		t.Errorf("memory: %q", got)
	}
}

// dropTimes removes the time of day that one of the tools puts into its text.
func dropTimes(s string) string {
	i := strings.Index(s, " at ")
	if i < 0 {
		return s
	}
	return s[:i]
}
