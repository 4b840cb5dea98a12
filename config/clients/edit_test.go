package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rlmproxy/config/jsonc"
)

// blank draws what may stand between two tokens of JSON with comments.
func blank(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", " ", "\n", "\n  ", "\r\n\t", " // a } comment\n", "/* , \" */", "\n    /* x */ "}).Draw(t, "blank")
}

// object draws an object of these members.
func object(t *rapid.T, names []string, value func(i int) string) string {
	var b strings.Builder
	b.WriteString("{")
	for i, name := range names {
		if i > 0 {
			b.WriteString(",")
		}
		key, _ := json.Marshal(name)
		b.WriteString(blank(t) + string(key) + blank(t) + ":" + blank(t) + value(i) + blank(t))
	}
	if len(names) > 0 && rapid.Bool().Draw(t, "comma") {
		b.WriteString(",")
	}
	b.WriteString(blank(t) + "}")
	return b.String()
}

func randomNames(t *rapid.T, least int) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "ö\n", "rlmproxy", "x y", "mcp"}), least, 5, rapid.ID[string]).Draw(t, "names")
}

// TestEditJSON: whatever a file looks like, connecting and disconnecting gives its bytes
// back, also once something outside of the servers has changed.
func TestEditJSON(t *testing.T) {
	values := []string{`1`, `"s // no comment"`, `{"command":"c"}`, `{ "command" : "c" , /* , */ "args" : [ ] , }`, `null`, `[[{}]]`}
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(Clients[:6]).Draw(t, "client")
		p := ann.Places(&c, func(string) bool { return false })[0]
		value := func(int) string { return rapid.SampledFrom(values).Draw(t, "value") }
		names := randomNames(t, 0)
		servers := object(t, names, value)
		top := randomNames(t, 1)
		at := rapid.IntRange(-1, len(top)-1).Draw(t, "at") // -1: the file has no servers
		if at >= 0 {
			top[at] = c.key
		} else {
			names = nil
		}
		file := blank(t) + object(t, top, func(i int) string {
			if i == at {
				return servers
			}
			return `"before-the-change"`
		}) + blank(t)
		var taken []string
		for _, name := range names {
			if rapid.Bool().Draw(t, "taken") {
				taken = append(taken, name)
			}
		}
		if _, err := p.Read([]byte(file)); err != nil {
			t.Fatal(err)
		}
		after, err := p.Connect([]byte(file), taken, launch)
		if err != nil {
			t.Fatalf("%v\n%s", err, file)
		}
		d, err := jsonc.Parse("", after)
		if err != nil {
			t.Fatalf("%v\n%s\nconnected:\n%s", err, file, after)
		}
		obj, _ := d.Object(p.keys, false)
		want := map[string]bool{Ours: true}
		for _, name := range names {
			want[name] = true
		}
		for _, name := range taken {
			delete(want, name)
		}
		want[Ours] = true
		got := map[string]bool{}
		for _, m := range obj.Members {
			got[jsonc.Name(m)] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n%s\nconnected:\n%s", diff, file, after)
		}
		back, err := p.Undo(after, []byte(file))
		if err != nil || string(back) != file {
			t.Fatalf("%v\n%q\nconnected:\n%q\nand back:\n%q", err, file, after, back)
		}
		change := func(b []byte) []byte {
			return bytes.Replace(b, []byte("before-the-change"), []byte("since"), 1)
		}
		back, err = p.Undo(change(after), []byte(file))
		switch {
		case err != nil:
			t.Fatal(err)
		case at >= 0 && !bytes.Equal(back, change([]byte(file))):
			t.Fatalf("changed:\n%q\nconnected:\n%q\nand back:\n%q", change([]byte(file)), after, back)
		}
	})
}

// TestEditTOML is TestEditJSON for TOML, whose tables may come back in another place.
func TestEditTOML(t *testing.T) {
	p := ann.Places(Find("codex"), func(string) bool { return false })[0]
	lines := []string{
		"# a comment\n", "\n", "[other]\nx = 1 # y\n", "[mcp_servers.a]\ncommand = \"a\"\n", "[mcp_servers.a.env]\nK = \"\"\"\n[mcp_servers.b]\n\"\"\"\n",
		"[mcp_servers.\"b.c\"]\nurl = 'u'\nargs = [\n  \"]\", # [x]\n]\n", "[[list]]\nmcp_servers.z.k = {a = 1}\n", "[mcp_servers]\n", "d = {command = \"d\"}\n", "[ mcp_servers . rlmproxy ]\ncommand = 'x'\n",
	}
	rapid.Check(t, func(t *rapid.T) {
		file := strings.Join(rapid.SliceOfN(rapid.SampledFrom(lines), 0, 8).Draw(t, "lines"), "")
		if rapid.Bool().Draw(t, "crlf") {
			file = strings.ReplaceAll(file, "\n", "\r\n")
		}
		servers, err := p.Read([]byte(file))
		if err != nil {
			return // a table twice
		}
		var taken []string
		for _, s := range servers {
			if rapid.Bool().Draw(t, "taken") {
				taken = append(taken, s.Name)
			}
		}
		after, err := p.Connect([]byte(file), taken, launch)
		if err != nil {
			return // refused, as what it may
		}
		back, err := p.Undo(after, []byte(file))
		if err != nil || string(back) != file {
			t.Fatalf("%v\n%q\nconnected:\n%q\nand back:\n%q", err, file, after, back)
		}
	})
}

// FuzzConnect: no file, however odd, takes us down or comes back otherwise.
func FuzzConnect(f *testing.F) {
	for i := range Clients {
		c := &Clients[i]
		if data, err := os.ReadFile(filepath.Join("testdata", c.Name+".json")); err == nil {
			f.Add(i, data)
		}
		if data, err := os.ReadFile(filepath.Join("testdata", c.Name+".toml")); err == nil {
			f.Add(i, data)
		}
	}
	f.Fuzz(func(t *testing.T, i int, data []byte) {
		c := &Clients[uint(i)%uint(len(Clients))]
		p := ann.Places(c, func(string) bool { return false })[0]
		servers, err := p.Read(data)
		if err != nil {
			return
		}
		var taken []string
		for _, s := range servers {
			if s.Stays == "" && !s.Ours {
				taken = append(taken, s.Name)
			}
		}
		after, err := p.Connect(data, taken, launch)
		if err != nil {
			return
		}
		if back, err := p.Undo(after, data); err != nil || !bytes.Equal(back, data) {
			t.Errorf("%v\n%q\nconnected:\n%q\nand back:\n%q", err, data, after, back)
		}
	})
}

// TestRefused: what cannot be read is refused with its place, and without what stands there.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ client, data, want string }{
		{"cursor", "{\n  \"mcpServers\": {\"a\": {\"env\": {\"K\": hunter2}}}}", "/home/ann/.cursor/mcp.json:2:37: "},
		{"cursor", `[]`, "not an object"},
		{"cursor", `{"mcpServers": []}`, `"mcpServers" is not an object`},
		{"cursor", `{"mcpServers": {}, "mcpServers": {}}`, "is there twice"},
		{"cursor", `{"mcpServers": {"a": {}, "a": {}}}`, "is there twice"},
		{"cursor", strings.Repeat("[", 1<<20), "nested more than"},
		{"cursor", "", "empty"},
		{"codex", "a = 1\nb = [hunter2\n", "/home/ann/.codex/config.toml:2:"},
		{"codex", "a = " + strings.Repeat("[", 1<<20), "nested more than"},
		{"codex", "mcp_servers = 1", "not a table"},
		{"codex", "mcp_servers = {a = {command = 'x'}}", "cannot be edited"},
	} {
		p := ann.Places(Find(tt.client), func(string) bool { return false })[0]
		_, err := p.Read([]byte(tt.data))
		if err == nil {
			_, err = p.Connect([]byte(tt.data), nil, launch)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s %.40q: %v, want %q", tt.client, tt.data, err, tt.want)
		}
	}
}

// TestAddedSince: a server that the person has added to the client's file since stays there,
// as do changes of ours.
func TestAddedSince(t *testing.T) {
	p := ann.Places(Find("cursor"), func(string) bool { return false })[0]
	file := []byte("{\n  \"mcpServers\": {\n    // the first\n    \"a\": {\"command\": \"a\"},\n    \"b\": {\"command\": \"b\"}\n  }\n}\n")
	after, err := p.Connect(file, []string{"a", "b"}, launch)
	if err != nil {
		t.Fatal(err)
	}
	now := bytes.Replace(after, []byte("  }\n}\n"), []byte("  ,\n    \"c\": {\"command\": \"c\"}\n  }\n}\n"), 1)
	got, err := p.Undo(now, file)
	want := "{\n  \"mcpServers\": {\n    // the first\n    \"a\": {\"command\": \"a\"},\n    \"b\": {\"command\": \"b\"},\n    \"c\": {\"command\": \"c\"}\n  }\n}\n"
	if err != nil || string(got) != want {
		t.Error(err, cmp.Diff(want, string(got)))
	}
	if got, err := p.Undo(after, nil); err != nil || bytes.Contains(got, []byte(Ours)) {
		t.Errorf("without a backup: %v\n%s", err, got)
	}
}

// TestLocal: the servers that Claude Code has for a project alone are told from the others of
// its file, and run where the project is.
func TestLocal(t *testing.T) {
	_, data := fixture(t, Find("claude-code"))
	p := ann.Places(Find("claude-code"), func(string) bool { return false })[1]
	servers, err := p.Read(data)
	want := []Server{{Name: "tests", Entry: Entry{Command: "node", Args: []string{"./tools/mcp.js"}, Env: map[string]string{"CI": "1"}, Cwd: "/home/ann/work"}}}
	if diff := cmp.Diff(want, servers); err != nil || diff != "" {
		t.Error(err, diff)
	}
	_, after := connected(t, p, data)
	if !bytes.Contains(after, []byte(`"sentry"`)) || bytes.Contains(after, []byte(`"tests"`)) || !bytes.Contains(after, []byte("        \"rlmproxy\": {\n          \"type\"")) {
		t.Errorf("%s", after)
	}
	for _, now := range [][]byte{after, bytes.Replace(after, []byte("42"), []byte("43"), 1)} {
		got, err := p.Undo(now, data)
		if want := bytes.Replace(data, []byte("42"), now[bytes.Index(now, []byte("4")):][:2], 1); err != nil || !bytes.Equal(got, want) {
			t.Error(err, cmp.Diff(string(want), string(got)))
		}
	}
}

// TestNoSecretsForStrangers: no reference in a client's file becomes one to a file or the
// keyring of the person that it is not there.
func TestNoSecretsForStrangers(t *testing.T) {
	for _, tt := range []struct{ client, text, want string }{
		{"claude-desktop", "${keyring:github}", ""},
		{"zed", "a${file:~/.ssh/id_rsa}", ""},
		{"codex", "${keyring:github}", ""},
		{"opencode", "${keyring:github}", ""},
		{"cursor", "${file:~/.ssh/id_rsa}", ""},
		{"cursor", "${keyring:github}", ""},
		{"claude-code", "${keyring:github}", ""},
		{"gemini", "${keyring:github} $X", ""},
		{"vscode", "${env:A}${input:b}", "${A}${keyring:b}"},
		{"windsurf", "${file:/run/key}", "${file:/run/key}"},
		{"opencode", "{file:~/key} {env:A}", "${file:~/key} ${A}"},
		{"gemini", "$A-${B:-c}", "${A}-${B:-c}"},
		{"claude-code", "$A ${B:-c d}", "$A ${B:-c d}"},
	} {
		p := ann.Places(Find(tt.client), func(string) bool { return false })[0]
		s := p.read("x", map[string]any{"command": "x", "env": map[string]any{"K": tt.text}})
		if got := s.Entry.Env["K"]; tt.want != "" && (got != tt.want || s.Stays != "") || tt.want == "" && s.Stays == "" {
			t.Errorf("%s: %s is %s, %q", tt.client, tt.text, got, s.Stays)
		}
	}
}

// TestInputs: what VS Code asks for in a project has a name of its own in the keyring.
func TestInputs(t *testing.T) {
	places := ann.Places(Find("vscode"), func(string) bool { return false })
	s := places[1].read("x", map[string]any{"url": "https://x", "headers": map[string]any{"K": "${input:github}"}})
	if got := s.Entry.Headers["K"]; got == "${keyring:github}" || !strings.HasPrefix(got, "${keyring:github-") || len(s.Secrets) != 1 {
		t.Errorf("%s %q", got, s.Secrets)
	}
}

// TestPlaces: where the clients have their files, on each system.
func TestPlaces(t *testing.T) {
	var b strings.Builder
	for _, s := range []System{
		{OS: "linux", Home: "/home/ann", Dir: "/src/p"},
		{OS: "linux", Home: "/home/ann", Dir: "/home/ann", Getenv: func(name string) string { return "/x/" + name }},
		{OS: "darwin", Home: "/Users/ann", Dir: "/src/p"},
		{OS: "windows", Home: "/Users/ann", Dir: "/src/p"},
	} {
		if s.Getenv == nil {
			s.Getenv = func(string) string { return "" }
		}
		fmt.Fprintf(&b, "%s %s\n", s.OS, s.Dir)
		for i := range Clients {
			for _, p := range s.Places(&Clients[i], func(string) bool { return false }) {
				fmt.Fprintf(&b, "  %s %s: %s %s %s\n", p.Client.Name, p.Scope, filepath.ToSlash(p.Path), strings.Join(p.keys, " "), p.Config())
			}
		}
	}
	if runtime.GOOS != "windows" { // whose absolute paths are others
		golden(t, "places", b.String())
	}
}

// TestMerge: servers that are alike are one, others of the same name are told apart, and what
// mcp.json has stays.
func TestMerge(t *testing.T) {
	entry := func(client, name, command string) Found {
		p := ann.Places(Find(client), func(string) bool { return false })[0]
		return Found{Server: Server{Name: name, Entry: Entry{Command: command}}, Place: p}
	}
	for _, tt := range []struct {
		data  string
		found []Found
		want  string
	}{
		{``, []Found{entry("zed", "x", "1"), entry("cursor", "x", "1")}, "x added, x there"},
		{``, []Found{entry("zed", "x", "1"), entry("cursor", "x", "2"), entry("vscode", "x", "2")}, "x added, x-cursor added, x-vscode added"},
		{``, []Found{entry("cursor", "x", "1"), entry("cursor", "x", "2"), entry("cursor", "x", "3")}, "x added, x-cursor added, x-cursor-2 added"},
		{`{"mcpServers": {"x": {"command": "1", "shape": false}}}`, []Found{entry("zed", "x", "1")}, "x there"},
		{`{"mcpServers": {"x": {"command": "2"}}}`, []Found{entry("zed", "x", "1")}, "x differs"},
		{`{"mcpServers": {"x": {"command": "1", "args": ["more"]}}}`, []Found{entry("zed", "x", "1")}, "x differs"},
		{`{"mcpServers": {"x": {"command": "2"}, "x-zed": {"command": "1"}}}`, []Found{entry("zed", "x", "1")}, "x-zed there"},
	} {
		var data []byte
		if tt.data != "" {
			data = []byte(tt.data)
		}
		out, err := Add("mcp.json", data, Merge(tt.found))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range tt.found {
			got = append(got, f.As+[]string{" added", " there", " differs"}[f.Outcome])
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" || !strings.Contains(tt.want, "added") && !bytes.Equal(out, data) {
			t.Errorf("%s: %s\n%s", tt.data, diff, out)
		}
	}
}

// TestFiles: a link is written through, the mode stays, and a file that somebody has changed
// meanwhile is left alone.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", link); err != nil {
		t.Skip(err)
	}
	if err := WriteFile(link, []byte("other"), []byte("new"), 0); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Error(err)
	}
	if err := WriteFile(link, []byte("old"), []byte("new"), 0); err != nil {
		t.Error(err)
	}
	info, err := os.Lstat(file)
	data, _ := os.ReadFile(file)
	if at, _ := os.Readlink(link); err != nil || at != "real" || string(data) != "new" || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("%v %q %q %v", err, at, data, info.Mode())
	}
	if err := WriteFile(filepath.Join(dir, "fresh"), nil, []byte("x"), 0); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "fresh")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Error(err, info)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 3 {
		t.Error(entries)
	}
	if err := os.Truncate(file, maxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(file); err == nil || !strings.Contains(err.Error(), "larger than 4 MiB") {
		t.Error(err)
	}
	if _, err := ReadFile(dir); err == nil {
		t.Error("a folder was read")
	}
}

// TestDiff: secrets are not shown, references are.
func TestDiff(t *testing.T) {
	got := Diff("f", nil, []byte("{\n\"API_KEY\": \"hunter2\",\n\"TOKEN\": \"${TOKEN}\", \"Authorization\": \"Bearer ${X}\", \"secret\" : \"a\\\"hunter2\"\n}\ntoken = \"hunter2\"\n"))
	want := "--- f\n+++ f\n@@ -0,0 +1,5 @@\n+{\n+\"API_KEY\": \"«…»\",\n+\"TOKEN\": \"${TOKEN}\", \"Authorization\": \"Bearer ${X}\", \"secret\" : \"«…»\"\n+}\n+token = \"«…»\"\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestPackaged: Claude Desktop of the Windows Store has its file in the folder of its package,
// and the one in %APPDATA% counts only if that is not there.
func TestPackaged(t *testing.T) {
	const (
		plain = "/Users/ann/AppData/Roaming/Claude/claude_desktop_config.json"
		store = "/Users/ann/AppData/Local/Packages/Claude_pzs8/LocalCache/Roaming/Claude/claude_desktop_config.json"
		other = "/local/Packages/Claude_pzs8/LocalCache/Roaming/Claude/claude_desktop_config.json"
	)
	packages := func(dir string) []string {
		if filepath.Base(dir) != "Packages" {
			t.Errorf("%s is listed", dir)
		}
		return []string{"Anthropic.Claude_1", "Claude_pzs8", "ClaudeOther_1"}
	}
	for _, tt := range []struct {
		os, local string
		list      func(string) []string
		files     []string
		want      string
	}{
		{"windows", "", packages, []string{plain, store}, store},
		{"windows", "", packages, []string{store}, store},
		{"windows", "", packages, []string{plain}, plain},
		{"windows", "/local", packages, []string{plain, other}, other},
		{"windows", "", nil, []string{plain, store}, plain},
		{"windows", "", func(string) []string { return nil }, nil, plain},
		{"linux", "", packages, []string{store}, "/Users/ann/.config/Claude/claude_desktop_config.json"},
	} {
		s := System{OS: tt.os, Home: "/Users/ann", Dir: "/src/p", List: tt.list, Getenv: func(name string) string {
			if name == "LOCALAPPDATA" {
				return tt.local
			}
			return ""
		}}
		p := s.Places(Find("claude-desktop"), func(path string) bool { return slices.Contains(tt.files, filepath.ToSlash(path)) })
		if got := filepath.ToSlash(p[0].Path); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.files, got, tt.want)
		}
	}
}
