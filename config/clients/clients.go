// Package clients reads the servers of MCP clients from their own configuration files, puts
// the proxy in their place and takes it out again.
//
//	client's file ── Read ──► servers in the form of mcp.json ── Add ──► mcp.json
//	             └─ Connect ──► the same file with one entry, ours ── Undo ──► as it was
//
// A server that the proxy could not run as the client does stays in the client's file, and
// the reason is told. Nothing here opens a file but [ReadFile] and [WriteFile].
package clients

import (
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Ours is the name of the proxy's entry in a client's file.
const Ours = "rlmproxy"

// A System says where clients keep their files. Paths are absolute.
type System struct {
	OS     string // as runtime.GOOS
	Home   string
	Dir    string // the working directory, which may be a project
	Getenv func(string) string
	// List names what is in a folder, in order. Nil: no folder can be listed.
	List func(dir string) []string
}

// appData is where programs with a window keep their settings.
func (s System) appData() string {
	switch s.OS {
	case "windows":
		if dir := s.Getenv("APPDATA"); dir != "" {
			return dir
		}
		return filepath.Join(s.Home, "AppData", "Roaming")
	case "darwin":
		return filepath.Join(s.Home, "Library", "Application Support")
	}
	return s.dotConfig()
}

// dotConfig is ~/.config, which some programs use on all systems.
func (s System) dotConfig() string {
	if dir := s.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(s.Home, ".config")
}

// named is the folder that a variable names, else a folder of the home.
func (s System) named(variable, folder string) string {
	if dir := s.Getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(s.Home, folder)
}

// packaged are the files at a path below appData of a program of the Windows Store, which
// sees a copy of appData of its own. prefix begins the names of its packages.
func (s System) packaged(prefix string, path ...string) []string {
	if s.OS != "windows" || s.List == nil {
		return nil
	}
	local := s.Getenv("LOCALAPPDATA")
	if local == "" {
		local = filepath.Join(s.Home, "AppData", "Local")
	}
	var files []string
	packages := filepath.Join(local, "Packages")
	for _, name := range s.List(packages) {
		if strings.HasPrefix(name, prefix) {
			files = append(files, filepath.Join(append([]string{packages, name, "LocalCache", "Roaming"}, path...)...))
		}
	}
	return files
}

// forever is the patience of a client that waits for a call as long as it takes, or does not
// say how long. A day is what callTimeout may be at most.
const forever = 24 * time.Hour

// A Client is a program that has MCP servers.
type Client struct {
	Name  string // as it is typed
	Title string // as people call it
	// key is that of the object of servers.
	key string
	// unit is what its timeouts count. Zero: it has none that we know.
	unit time.Duration
	// patience is how long it waits for a call where its file says nothing.
	patience time.Duration
	// listing is how long it waits for a list of tools, if the timeout of a server is for
	// that too. Zero: it is not.
	listing time.Duration
	// timeout leads to the timeout of servers that have none. Nil: there is none.
	timeout []string
	// references is how its values refer to variables.
	references references
	// form is what our entry looks like.
	form form
	// user and project are the files of the person and of a project, by the first that
	// exists. Local are servers that the person has for a project alone.
	user    func(System) []string
	project []string
	local   bool
}

// references are ways to write a variable in a value.
type references int

const (
	dollar  references = iota // ${X}, ${env:X}
	bare                      // also $X
	braces                    // {env:X} alone
	literal                   // none: ${X} is passed as it stands
)

// form is how a client writes a server that it starts.
type form int

const (
	plain form = iota // command, args
	typed             // the same with "type": "stdio"
	list              // command is a list, "type": "local"
	table             // of TOML
)

// Clients are those that we know, in the order in which servers of one name keep it.
var Clients = []Client{
	{ // https://modelcontextprotocol.io/docs/develop/connect-local-servers
		Name: "claude-desktop", Title: "Claude Desktop", key: "mcpServers", references: literal, patience: 4 * time.Minute,
		user: func(s System) []string {
			const file = "claude_desktop_config.json"
			return append(s.packaged("Claude_", "Claude", file), filepath.Join(s.appData(), "Claude", file))
		},
	},
	{ // https://code.claude.com/docs/en/mcp
		Name: "claude-code", Title: "Claude Code", key: "mcpServers", unit: time.Millisecond, patience: forever, form: typed, local: true,
		user: func(s System) []string {
			return []string{filepath.Join(s.named("CLAUDE_CONFIG_DIR", ""), ".claude.json")}
		},
		project: []string{".mcp.json"},
	},
	{ // https://cursor.com/docs/context/mcp
		Name: "cursor", Title: "Cursor", key: "mcpServers", patience: forever,
		user:    func(s System) []string { return []string{filepath.Join(s.Home, ".cursor", "mcp.json")} },
		project: []string{".cursor/mcp.json"},
	},
	{ // https://code.visualstudio.com/docs/copilot/reference/mcp-configuration
		Name: "vscode", Title: "VS Code", key: "servers", form: typed, patience: forever,
		user:    func(s System) []string { return []string{filepath.Join(s.appData(), "Code", "User", "mcp.json")} },
		project: []string{".vscode/mcp.json"},
	},
	{ // https://docs.windsurf.com/windsurf/cascade/mcp
		Name: "windsurf", Title: "Windsurf", key: "mcpServers", patience: forever,
		user: func(s System) []string {
			return []string{filepath.Join(s.Home, ".codeium", "windsurf", "mcp_config.json")}
		},
	},
	{ // https://zed.dev/docs/ai/mcp
		Name: "zed", Title: "Zed", key: "context_servers", references: literal, unit: time.Second, patience: time.Minute,
		timeout: []string{"context_server_timeout"},
		user: func(s System) []string {
			if s.OS == "windows" {
				return []string{filepath.Join(s.appData(), "Zed", "settings.json")}
			}
			return []string{filepath.Join(s.dotConfig(), "zed", "settings.json")}
		},
		project: []string{".zed/settings.json"},
	},
	{ // https://developers.openai.com/codex/mcp
		Name: "codex", Title: "Codex", key: "mcp_servers", references: literal, form: table, unit: time.Second, patience: time.Minute,
		user: func(s System) []string {
			return []string{filepath.Join(s.named("CODEX_HOME", ".codex"), "config.toml")}
		},
		project: []string{".codex/config.toml"},
	},
	{ // https://opencode.ai/docs/mcp-servers
		Name: "opencode", Title: "opencode", key: "mcp", unit: time.Millisecond, patience: time.Minute, references: braces, form: list,
		listing: 5 * time.Second, timeout: []string{"experimental", "mcp_timeout"},
		user: func(s System) []string {
			dir := filepath.Join(s.dotConfig(), "opencode")
			return []string{filepath.Join(dir, "opencode.jsonc"), filepath.Join(dir, "opencode.json")}
		},
		project: []string{"opencode.jsonc", "opencode.json"},
	},
	{ // https://github.com/google-gemini/gemini-cli/blob/main/docs/tools/mcp-server.md
		Name: "gemini", Title: "Gemini CLI", key: "mcpServers", unit: time.Millisecond, patience: 10 * time.Minute, references: bare,
		user:    func(s System) []string { return []string{filepath.Join(s.Home, ".gemini", "settings.json")} },
		project: []string{".gemini/settings.json"},
	},
	{ // https://docs.cline.bot/mcp/configuring-mcp-servers
		Name: "cline", Title: "Cline", key: "mcpServers", unit: time.Second, patience: time.Minute,
		user: func(s System) []string {
			const file = "cline_mcp_settings.json"
			return []string{
				filepath.Join(s.appData(), "Code", "User", "globalStorage", "saoudrizwan.claude-dev", "settings", file),
				filepath.Join(s.Home, ".cline", "data", "settings", file),
			}
		},
	},
}

// Find is the client of that name, or nil.
func Find(name string) *Client {
	if i := slices.IndexFunc(Clients, func(c Client) bool { return c.Name == name }); i >= 0 {
		return &Clients[i]
	}
	return nil
}

// Names are those of all clients.
func Names() []string {
	var names []string
	for _, c := range Clients {
		names = append(names, c.Name)
	}
	return names
}

// A Place is one object of servers in a file of a client.
type Place struct {
	Client *Client
	// Scope is "user", "project", or "local": of the user in this project.
	Scope string
	Path  string
	// keys lead to the object.
	keys []string
	// folder is the project, or "".
	folder string
	home   string // as a reference to a variable
}

// Places are where c may have servers. exists says whether there is such a file.
func (s System) Places(c *Client, exists func(path string) bool) []Place {
	first := func(paths []string) string {
		if i := slices.IndexFunc(paths, exists); i >= 0 {
			return paths[i]
		}
		return paths[0]
	}
	home := "${HOME}"
	if s.OS == "windows" {
		home = "${USERPROFILE}"
	}
	user := Place{Client: c, Scope: "user", Path: first(c.user(s)), keys: []string{c.key}, home: home}
	places := []Place{user}
	if c.local {
		local := user
		local.Scope, local.folder = "local", s.Dir
		local.keys = []string{"projects", filepath.ToSlash(s.Dir), c.key}
		places = append(places, local)
	}
	var own []string
	for _, path := range c.project {
		own = append(own, filepath.Join(s.Dir, filepath.FromSlash(path)))
	}
	if len(own) > 0 && !slices.Contains(c.user(s), own[0]) { // as in the home folder
		places = append(places, Place{Client: c, Scope: "project", Path: first(own), keys: user.keys, folder: s.Dir, home: home})
	}
	return places
}

// Backup is where the file is kept as it was before we were connected.
func (p Place) Backup() string {
	path := p.Path + "." + Ours + "-backup"
	if p.Scope == "local" { // one file has those of several projects
		path += "-" + short(p.folder)
	}
	return path
}

// Config is the name of our configuration file for the servers of p.
func (p Place) Config() string {
	name := p.Client.Name
	if p.folder != "" {
		name += "-" + strings.Map(plainName, filepath.Base(p.folder)) + "-" + short(p.Scope+p.folder)
	}
	return name + ".json"
}
