package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rlmproxy/config"
)

// An Entry is a server in the form of mcp.json.
type Entry struct {
	Command    string            `json:"command,omitempty"`
	Args       []string          `json:"args,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	EnvFile    string            `json:"envFile,omitempty"`
	InheritEnv []string          `json:"inheritEnv,omitempty"`
	Cwd        string            `json:"cwd,omitempty"`
	Type       string            `json:"type,omitempty"`
	URL        string            `json:"url,omitempty"`
	Headers    map[string]string `json:"headers,omitempty"`
	Auth       map[string]any    `json:"auth,omitempty"`
	Timeout    Seconds           `json:"timeout,omitempty"`
	Disabled   bool              `json:"disabled,omitempty"`
	Allow      []string          `json:"allow,omitempty"`
	Deny       []string          `json:"deny,omitempty"`
}

// Seconds are a number in mcp.json, and of an hour or more a text with its unit: a number as
// high looks like milliseconds.
type Seconds float64

func (s Seconds) MarshalJSON() ([]byte, error) {
	if s < 3600 {
		return json.Marshal(float64(s))
	}
	text := time.Duration(float64(s) * float64(time.Second)).String()
	for _, zero := range []string{"m0s", "h0m"} { // 24h, not 24h0m0s
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return json.Marshal(text)
}

// entryKeys are the keys of an [Entry].
var entryKeys = []string{"command", "args", "env", "envFile", "inheritEnv", "cwd", "type", "url", "headers", "auth", "timeout", "disabled", "allow", "deny"}

// A Server is an entry of a client's file.
type Server struct {
	Name  string
	Entry Entry
	// Notes are what of it is not taken over, a line each.
	Notes []string
	// Secrets are names in the keyring that the entry refers to, for what the client asks
	// the person for. Without them the proxy does not start.
	Secrets []string
	// Stays is why the proxy cannot run the server as the client does, or "".
	Stays string
	// Ours says that it is a proxy already.
	Ours bool
}

// cosmetic are keys that change nothing of what a server does.
var cosmetic = []string{
	"comment", "_comment", "//", "description", "icon", "icons", "id", "name", "note", "tags", "title", "version",
	"gallery", "source", "sourcePath", "extensionName", "dxtVersion", "provider", "providerUrl", "logoUrl", "$schema",
}

// approvals say which calls the client lets through without asking.
var approvals = []string{"autoApprove", "alwaysAllow", "trust", "default_tools_approval_mode", "approval_mode"}

// A reading turns one entry of a client's file into ours.
type reading struct {
	p Place
	s *Server
}

// read is the server that raw describes.
func (p Place) read(name string, raw any) Server {
	s := Server{Name: name}
	r := reading{p, &s}
	entry, ok := raw.(map[string]any)
	if !ok {
		r.stays("its entry is not an object")
		return s
	}
	for _, key := range slices.Sorted(maps.Keys(entry)) {
		if entry[key] != nil {
			r.field(key, entry[key])
		}
	}
	e := &s.Entry
	s.Ours = name == Ours || e.Command != "" && strings.TrimSuffix(strings.ToLower(path.Base(filepath.ToSlash(strings.ReplaceAll(e.Command, `\`, "/")))), ".exe") == Ours
	switch httpURL, _ := entry["httpUrl"].(string); {
	case p.Client.Name != "gemini" || e.URL == "" || e.Type != "":
	case httpURL != "":
		e.Type = "http"
	default:
		e.Type = "sse"
	}
	if e.URL != "" && p.Client.Name == "gemini" {
		e.Command, e.Args, e.Env = "", nil, nil // which it does not look at then
	}
	if e.URL != "" {
		e.EnvFile = ""
	}
	if e.Command != "" {
		e.Type = ""
		switch {
		case p.folder == "":
		case e.Cwd == "":
			e.Cwd = p.folder // where the client starts it
		case !filepath.IsAbs(e.Cwd) && !strings.HasPrefix(e.Cwd, "~") && !strings.HasPrefix(e.Cwd, "${"):
			e.Cwd = filepath.Join(p.folder, e.Cwd)
		}
		if e.Cwd != "" && p.folder == "" && !filepath.IsAbs(e.Cwd) && !strings.HasPrefix(e.Cwd, "~") && !strings.HasPrefix(e.Cwd, "${") {
			r.stays("cwd is relative to where %s is started", p.Client.Title)
		}
	}
	if p.Client.Name == "vscode" && e.Type == "http" {
		e.Type = "" // it tries sse too
	}
	if s.Stays == "" && !s.Ours {
		data, err := json.Marshal(map[string]any{"mcpServers": map[string]any{name: e}})
		if err == nil {
			_, err = config.Parse("", data)
		}
		if err != nil {
			r.stays("%s", reason(err, name))
		}
	}
	return s
}

// reason is what package config says of the server of that name alone.
func reason(err error, name string) string {
	if list, ok := errors.AsType[config.ErrorList](err); ok {
		key := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(list[0].Key, "mcpServers."), name), ".")
		if key != "" {
			key += ": "
		}
		return key + list[0].Text
	}
	return err.Error()
}

// stays notes why the server stays with the client. The first reason counts.
func (r reading) stays(format string, args ...any) {
	if r.s.Stays == "" {
		r.s.Stays = fmt.Sprintf(format, args...)
	}
}

func (r reading) note(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(r.s.Notes, note) {
		r.s.Notes = append(r.s.Notes, note)
	}
}

// field reads one key, which is not null.
func (r reading) field(key string, value any) {
	e := &r.s.Entry
	switch key {
	case "command":
		switch v := value.(type) {
		case []any: // opencode
			if words := r.texts(key, v); len(words) > 0 {
				e.Command, e.Args = words[0], words[1:]
			}
		case map[string]any: // older Zed
			r.nested(v)
		default:
			e.Command = r.text(key, v)
		}
	case "args":
		e.Args = r.texts(key, value)
	case "env", "environment":
		e.Env = r.textMap(key, value)
	case "env_vars": // Codex
		list, _ := value.([]any)
		for _, each := range list {
			if m, ok := each.(map[string]any); ok {
				each = m["name"]
			}
			e.InheritEnv = append(e.InheritEnv, escapeGlob(r.text(key, each)))
		}
	case "cwd":
		e.Cwd = r.text(key, value)
	case "type", "transport", "transportType":
		r.kind(r.text(key, value))
	case "url", "serverUrl", "httpUrl":
		if text := r.text(key, value); key != "url" || e.URL == "" { // httpUrl is before url
			e.URL = text
		}
	case "headers", "http_headers":
		r.headers(r.textMap(key, value))
	case "env_http_headers":
		headers := r.textMap(key, value)
		for name, variable := range headers {
			headers[name] = r.variable(key, variable)
		}
		r.headers(headers)
	case "bearer_token_env_var":
		r.headers(map[string]string{"Authorization": "Bearer " + r.variable(key, r.text(key, value))})
	case "auth", "oauth":
		r.auth(key, value)
	case "timeout", "tool_timeout_sec":
		r.timeout(key, value)
	case "disabled", "enabled", "isActive":
		truth, ok := value.(bool)
		if !ok {
			r.stays("%s is not true or false", key)
		}
		e.Disabled = e.Disabled || ok && truth == (key == "disabled")
	case "includeTools", "allowedTools", "enabled_tools", "tools":
		if _, ok := value.([]any); key == "tools" && !ok {
			r.note("tools is not taken over: it has an unknown form")
			return
		}
		e.Allow = r.globs(key, value)
		if len(e.Allow) == 0 { // which is no tool there, and every tool here
			e.Deny = append(e.Deny, "*")
		}
	case "excludeTools", "disabledTools", "disabled_tools":
		e.Deny = append(e.Deny, r.globs(key, value)...)
	case "envFile":
		e.EnvFile = r.text(key, value)
		if !filepath.IsAbs(e.EnvFile) && !strings.HasPrefix(e.EnvFile, "~") && !strings.HasPrefix(e.EnvFile, "${") {
			if r.p.folder == "" {
				r.stays("envFile is relative to where %s is started", r.p.Client.Title)
			}
			e.EnvFile = filepath.Join(r.p.folder, e.EnvFile)
		}
	case "headersHelper", "authProviderType", "tcp", "sandboxEnabled":
		r.stays("rlmproxy has nothing like %s", key)
	default:
		switch {
		case slices.Contains(cosmetic, key):
		case slices.Contains(approvals, key):
			if value != false && !empty(value) {
				r.note("%s is not taken over: approve rlmproxy's tools in %s again", key, r.p.Client.Title)
			}
		case value != false && !empty(value):
			r.note("%s is not taken over", key)
		}
	}
}

func empty(value any) bool {
	switch v := value.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return value == ""
}

// nested is {"path": …, "args": …, "env": …}.
func (r reading) nested(command map[string]any) {
	for key, value := range command {
		switch key {
		case "path":
			r.s.Entry.Command = r.text(key, value)
		case "args", "env":
			if value != nil {
				r.field(key, value)
			}
		}
	}
}

func (r reading) kind(text string) {
	switch strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(text)) {
	case "", "stdio", "local", "remote", "custom":
	case "http", "streamablehttp":
		r.s.Entry.Type = "http"
	case "sse":
		r.s.Entry.Type = "sse"
	default:
		r.stays("rlmproxy has no servers of type %q", text)
	}
}

func (r reading) headers(more map[string]string) {
	if r.s.Entry.Headers == nil {
		r.s.Entry.Headers = map[string]string{}
	}
	maps.Copy(r.s.Entry.Headers, more)
}

// variable is a reference to the variable of that name.
func (r reading) variable(key, name string) string {
	if !variableName.MatchString(name) {
		r.stays("%s names no variable", key)
	}
	return "${" + name + "}"
}

// auth keeps what says who the client is.
func (r reading) auth(key string, value any) {
	members, ok := value.(map[string]any)
	if !ok {
		if value != false && value != true {
			r.note("%s is not taken over", key)
		}
		return
	}
	auth := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		switch name {
		case "clientId", "clientSecret", "CLIENT_ID", "CLIENT_SECRET":
			auth[name] = r.text(name, members[name])
		case "scopes":
			auth[name] = r.texts(name, members[name])
		case "scope":
			auth["scopes"] = strings.Fields(r.text(name, members[name]))
		case "callbackPort":
			auth[name] = members[name]
		case "enabled":
		default:
			r.note("%s.%s is not taken over", key, name)
		}
	}
	if len(auth) > 0 {
		r.s.Entry.Auth = auth
	}
}

// timeout is that of a call, in seconds.
func (r reading) timeout(key string, value any) {
	unit := r.p.Client.unit
	if m, ok := value.(map[string]any); ok {
		value = m["request"] // opencode
	}
	n, ok := number(value)
	seconds := n * unit.Seconds()
	switch {
	case !ok || unit == 0 || seconds < 0.1 || seconds > 24*3600:
		r.note("%s is not taken over", key)
	default:
		r.s.Entry.Timeout = Seconds(seconds)
	}
}

// number is value as JSON or TOML has it.
func number(value any) (float64, bool) {
	switch v := value.(type) {
	case json.Number:
		n, err := v.Float64()
		return n, err == nil
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// text is a string, its references as ours.
func (r reading) text(key string, value any) string {
	text, ok := value.(string)
	if !ok {
		r.stays("%s is not text", key)
	}
	return r.translate(key, text)
}

func (r reading) texts(key string, value any) []string {
	list, ok := value.([]any)
	if !ok {
		r.stays("%s is not a list", key)
	}
	var texts []string
	for _, each := range list {
		texts = append(texts, r.text(key, each))
	}
	return texts
}

// textMap is an object of strings, among which numbers and truths count as they are written.
func (r reading) textMap(key string, value any) map[string]string {
	members, ok := value.(map[string]any)
	if !ok {
		r.stays("%s is not an object", key)
	}
	if len(members) == 0 {
		return nil
	}
	texts := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		switch v := members[name].(type) {
		case nil:
			r.note("%s.%s is null, and not taken over", key, name)
		case json.Number, int64, float64, bool:
			texts[name] = fmt.Sprint(v)
		default:
			texts[name] = r.text(key+"."+name, v)
		}
	}
	return texts
}

// globs are patterns that match the names in value alone.
func (r reading) globs(key string, value any) []string {
	names := r.texts(key, value)
	for i, name := range names {
		names[i] = escapeGlob(name)
	}
	return names
}

func escapeGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
}
