package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestStrictClientFilesystem(t *testing.T) {
	dir := modules(t)
	command := append(real(t, "mcp-server-filesystem"), dir)
	s := wrapped(t, command)
	s.small("list_allowed_directories", dir, `{}`)
	s.small("read_text_file", "@modelcontextprotocol/sdk", `{"path":%q,"head":3}`, filepath.Join(dir, "@modelcontextprotocol/sdk/package.json"))
	s.small("get_file_info", "size", `{"path":%q}`, dir)
	s.small("list_directory_with_sizes", "Total", `{"path":%q}`, filepath.Join(dir, "zod/v4"))
	if r := s.accepted("read_text_file", `{"path":"/nowhere"}`); !r.IsError {
		t.Errorf("a file outside: %v", r)
	}
	s.cut("package.json", "directory_tree", `{"path":%q}`, dir)
	s.cut("license", "search_files", `{"path":%q,"pattern":"**/LICENSE*"}`, dir)
	s.cut("version", "read_text_file", `{"path":%q}`, filepath.Join(dir, ".package-lock.json"))
	s.accepted("read_multiple_files", `{"paths":[%q,%[1]q]}`, filepath.Join(dir, ".package-lock.json"))
	if r := s.accepted("proxy_explore", `{"cache_id":"k3v9x2m8q4t1w6za"}`); !r.IsError || r.Meta.Error.Code != "unknown_cache_id" {
		t.Errorf("an ID of nobody: %v", r)
	}

	s = wholly(t, command)
	s.small("list_allowed_directories", dir, `{}`)
	s.small("directory_tree", "package.json", `{"path":%q}`, filepath.Join(dir, "zod"))
}

func TestStrictClientMemory(t *testing.T) {
	t.Setenv("MEMORY_FILE_PATH", filepath.Join(t.TempDir(), "memory.jsonl"))
	command := real(t, "mcp-server-memory")
	s := wrapped(t, command)
	var entities, relations []string
	for i := range 400 {
		entities = append(entities, fmt.Sprintf(`{"name":"service-%d","entityType":"service","observations":["listens on port %d","é ☃ 𝄞"]}`, i, 8000+i))
		relations = append(relations, fmt.Sprintf(`{"from":"service-%d","to":"service-%d","relationType":"calls"}`, i, (i+7)%400))
	}
	s.small("create_entities", "first", `{"entities":[{"name":"first","entityType":"service","observations":[]}]}`)
	s.small("read_graph", "first", `{}`)
	s.cut("service-17", "create_entities", `{"entities":[%s]}`, strings.Join(entities, ","))
	s.cut("service-17", "create_relations", `{"relations":[%s]}`, strings.Join(relations, ","))
	s.cut("service-17", "read_graph", `{}`)
	s.small("open_nodes", "8017", `{"names":["service-17"]}`)
	s.small("search_nodes", "8333", `{"query":"port 8333"}`)
	s.small("delete_entities", "success", `{"entityNames":["service-17"]}`)

	s = wholly(t, command)
	s.small("open_nodes", "8018", `{"names":["service-18"]}`)
	s.small("read_graph", "service-399", `{}`)
}

func TestStrictClientGit(t *testing.T) {
	command := real(t, "git-mcp-server")
	dir := repository(t, 400)
	s := wrapped(t, command)
	s.small("git_set_working_dir", dir, `{"path":%q}`, dir)
	s.small("git_status", "main", `{}`)
	s.small("git_log", "Change 399", `{"maxCount":2}`)
	s.cut("Change 250", "git_log", `{"maxCount":400}`)
	s.accepted("git_show", `{"object":"HEAD~3"}`)
	s.accepted("git_diff", `{"target":"HEAD~200"}`)
	if r := s.accepted("git_show", `{"object":"no-such-commit"}`); !r.IsError {
		t.Errorf("no such commit: %v", r)
	}

	s = wholly(t, command)
	s.small("git_set_working_dir", dir, `{"path":%q}`, dir)
	s.small("git_log", "Change 250", `{"maxCount":400}`)
}

// repository makes a Git repository of n commits and returns its folder.
func repository(t *testing.T, n int) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var stream strings.Builder
	for i := range n {
		text, message := fmt.Sprintf("line %d\n", i), fmt.Sprintf("Change %d\n\nBecause %d was not enough.\n", i, i-1)
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter A U Thor <author@example.com> %d +0000\ndata %d\n%s\n", 1700000000+i*3600, len(message), message)
		fmt.Fprintf(&stream, "M 100644 inline notes/%d.txt\ndata %d\n%s\n", i%50, len(text), text)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"fast-import", "--quiet"}, {"reset", "-q", "--hard"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Stdin = strings.NewReader(stream.String())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

// TestStrictClientRefuses: the client finds what these tests are for.
func TestStrictClientRefuses(t *testing.T) {
	liar := []string{node22(t), filepath.Join("testdata", "liar.mjs")}
	for name, s := range map[string]*strict{"directly": connect(t, liar...), "whole": wholly(t, liar)} {
		for tool, want := range map[string]string{
			"right":     "",
			"wrong":     "does not match the tool's output schema",
			"lacks":     "has an output schema but did not return structured content",
			"shapeless": "invalid",
		} {
			sr := s.try(tool, `{}`)
			if (want == "") != (sr.Error == "") || !strings.Contains(strings.ToLower(sr.Error), strings.ToLower(want)) {
				t.Errorf("%s, %s: %+v, want an error with %q", name, tool, sr, want)
			}
		}
	}
	s := wrapped(t, liar)
	if len(s.schemas) > 0 {
		t.Errorf("results may be cut, yet %v declare a schema", s.schemas)
	}
	if sr := s.try("lacks", `{}`); sr.Error != "" {
		t.Errorf("through the proxy, which leaves outputSchema off: %+v", sr)
	}
}

func TestStrictClientHTTP(t *testing.T) {
	dir := modules(t)
	s := connect(t, proxyHTTP(t, append([]string{"--"}, append(real(t, "mcp-server-filesystem"), dir)...)...))
	s.small("list_allowed_directories", dir, `{}`)
	s.cut("package.json", "directory_tree", `{"path":%q}`, dir)
}
