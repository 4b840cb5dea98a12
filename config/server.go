package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxNameLength is the longest name that model APIs accept for a tool, of
// which a server's name is a part.
const maxNameLength = 64

// example is what to write for a first server.
const example = `write for example:
  "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]}
  }`

// serverKeys are the keys of ours in a server's entry.
var serverKeys = []string{
	"command", "args", "env", "cwd", "url", "headers", "type", "timeout", "disabled", "prefix", "shape",
	"maxResponseTokens", "allow", "deny", "freshCalls", "hide", "tools", "isolation", "maxProcesses",
}

// otherSpellings are keys of other hosts that mean one of ours.
var otherSpellings = map[string]string{
	"transport": "type", "transportType": "type", "serverUrl": "url", "httpUrl": "url",
	"includeTools": "allow", "excludeTools": "deny", "disabledTools": "deny", "enabled": "disabled",
}

// foreignKeys are keys of other hosts, or notes, that mean nothing here.
var foreignKeys = []string{
	"alwaysAllow", "alwaysLoad", "autoApprove", "auth", "authorization_token", "comment", "_comment", "//",
	"description", "dev", "gallery", "icon", "icons", "id", "instructions", "name", "note", "oauth", "sandboxEnabled",
	"source", "title", "trust", "version",
}

// serverTypes maps what hosts write as a server's type to ours.
var serverTypes = map[string]string{
	"stdio": "stdio", "local": "stdio", "sse": "sse", "remote": "", "http": "http", "streamable-http": "http",
	"streamable_http": "http", "streamableHttp": "http", "streamableHTTP": "http",
}

// isolations are whom a process of a server is for: all agents, or one.
var isolations = []string{"shared", "agent"}

// servers reads mcpServers.
func (r *reader) servers(n node, vars variables) []Server {
	members, ok := r.object(n)
	if ok && len(members) == 0 {
		r.mistake(n, "there is no server", example)
	}
	var list []Server
	for _, m := range members {
		if name := strings.TrimSpace(m.key); name == "" {
			r.mistakeAt(m.offset, m.value.path, "a server's name is empty", "")
		} else if length := utf8.RuneCountInString(m.key); length > maxNameLength {
			r.mistakeAt(m.offset, m.value.path, fmt.Sprintf("a server's name has %d characters, of at most %d", length, maxNameLength), "")
		}
		s := Server{Name: m.key}
		r.server(m, &s, vars)
		list = append(list, s)
	}
	return list
}

// server reads one entry into s.
func (r *reader) server(entry member, s *Server, vars variables) {
	members, ok := r.object(entry.value)
	if !ok {
		return
	}
	at := map[string]node{} // by our spelling
	slip := ""              // hint for a misspelt command or url
	for _, m := range members {
		key := m.key
		if ours := otherSpellings[key]; ours != "" {
			key = ours
		}
		switch {
		case slices.Contains(foreignKeys, key):
			continue
		case key == "envFile":
			r.warn(m.offset, m.value.path, "the file is not read", "put its variables in env")
			continue
		case !slices.Contains(serverKeys, key):
			hint := didYouMean(key, serverKeys)
			if near := nearest(key, serverKeys); near == "command" || near == "url" {
				slip = fmt.Sprintf("did you mean %q where it says %s?", near, preview(key))
			}
			r.warn(m.offset, m.value.path, "unknown key, ignored", hint)
			continue
		}
		if _, twice := at[key]; twice {
			r.mistakeAt(m.offset, m.value.path, fmt.Sprintf("%q stands twice, in two spellings", key), "")
			continue
		}
		at[key] = m.value
		r.field(key, m, s)
	}
	if n, ok := at["maxProcesses"]; ok && s.Isolation != "agent" {
		r.warn(n.value.StartOffset, n.path, `no effect without "isolation": "agent"`, "")
	}
	r.kind(entry, s, at, slip)
	r.expandServer(s, at, vars)
}

// field reads one key of a server, in our spelling.
func (r *reader) field(key string, m member, s *Server) {
	v := m.value
	switch key {
	case "command", "url", "args":
		// Tokens are passed in these too, so they are not shown either.
		v.secret = true
	}
	switch key {
	case "command":
		s.Command = strings.TrimSpace(r.text(v))
		r.oneLine(v, s.Command)
	case "args":
		s.Args = r.texts(v)
	case "env":
		s.Env = r.textMap(v)
	case "cwd":
		s.Cwd = r.text(v)
		r.oneLine(v, s.Cwd)
	case "url":
		s.URL = strings.TrimSpace(r.text(v))
		if m.key == "httpUrl" {
			s.Type = "http"
		}
	case "headers":
		s.Headers = r.textMap(v)
	case "type":
		if text := r.text(v); text != "" {
			r.serverType(v, text, s)
		}
	case "isolation":
		s.Isolation = r.oneOf(v, isolations)
	case "maxProcesses":
		n, _ := r.parsed(v, whole(1, 1<<31-1), false).(int64)
		s.MaxProcesses = int(n)
	case "timeout":
		r.timeout(v, &s.Timeout)
	case "disabled":
		s.Disabled = r.truth(v) != (m.key == "enabled")
	case "prefix":
		prefix := r.text(v)
		s.Prefix = &prefix
	case "shape":
		shape := r.truth(v)
		s.Shape = &shape
	case "maxResponseTokens":
		s.MaxResponseTokens = r.tokens(v)
	case "allow":
		s.Allow = append(s.Allow, r.globs(v)...)
	case "deny":
		s.Deny = r.globs(v)
	case "hide":
		s.Hide = r.texts(v)
	case "freshCalls":
		s.FreshCalls = r.globs(v)
	case "tools":
		// Another host writes here the list of tools that it admits.
		if v.value.Value.Kind() == '[' {
			s.Allow = append(s.Allow, r.globs(v)...)
			return
		}
		s.Tools = r.tools(v)
	}
}

// oneLine warns of a path that a single backslash has changed: "C:\new" has a line
// break.
func (r *reader) oneLine(v node, path string) {
	if strings.ContainsAny(path, "\b\f\n\r\t") {
		r.warn(v.value.StartOffset, v.path, "holds a line break, tab or the like", `a backslash is written \\, as in "C:\\new"`)
	}
}

func (r *reader) serverType(v node, text string, s *Server) {
	kind, ok := serverTypes[text]
	if !ok {
		r.unknown(v, text, []string{"stdio", "http", "sse"})
		return
	}
	s.Type = kind
}

// oneOf is the string n, or "" with a mistake noted if it is none of known.
func (r *reader) oneOf(n node, known []string) string {
	if n.literal().Kind() == '"' && slices.Contains(known, n.literal().String()) {
		return n.literal().String()
	}
	r.unknown(n, n.literal().String(), known)
	return ""
}

func (r *reader) unknown(n node, text string, known []string) {
	r.mistake(n, fmt.Sprintf("expected one of %s, found %s", strings.Join(known, ", "), n.found()), didYouMean(text, known))
}

// kind checks that the entry says in exactly one way how to reach s.
func (r *reader) kind(entry member, s *Server, at map[string]node, slip string) {
	_, hasCommand := at["command"]
	_, hasURL := at["url"]
	switch {
	case hasCommand && hasURL:
		r.mistakeAt(entry.offset, entry.value.path, "both command and url are set", "keep one")
	case !hasCommand && !hasURL:
		r.mistakeAt(entry.offset, entry.value.path, "neither command nor url is set", slip)
	case hasCommand:
		if s.Type == "http" || s.Type == "sse" {
			r.mistake(at["type"], fmt.Sprintf("type %q needs a url, but command is set", s.Type), "")
		}
		s.Type = "stdio"
		r.noEffect(at, "headers", len(s.Headers) > 0, "a server that is started gets no headers", "pass secrets to it in env")
	default:
		if s.Type == "stdio" {
			r.mistake(at["type"], `type "stdio" needs a command, but url is set`, "")
		}
		const remote = "the server at a url is not started here"
		r.noEffect(at, "args", len(s.Args) > 0, remote, "")
		r.noEffect(at, "env", len(s.Env) > 0, remote, "pass secrets to it in headers")
		r.noEffect(at, "cwd", s.Cwd != "", remote, "")
	}
}

// noEffect warns of a key that has no effect on this kind of server, if something is
// set: other hosts write empty ones.
func (r *reader) noEffect(at map[string]node, key string, set bool, why, hint string) {
	if n, ok := at[key]; ok && set {
		r.warn(n.value.StartOffset, n.path, "no effect: "+why, hint)
	}
}

// checkURL notes what is wrong with a URL, without showing it: the query may
// hold a key.
func (r *reader) checkURL(n node, text string) {
	const want = "expected a URL such as https://example.com/mcp, found "
	u, err := url.Parse(text)
	switch {
	case text == "":
		r.mistake(n, want+"an empty string", "")
	case err != nil:
		r.mistake(n, want+"something else", "")
	case u.Scheme == "":
		r.mistake(n, want+"one without http:// or https://", "")
	case u.Scheme != "http" && u.Scheme != "https":
		r.mistake(n, want+"the scheme "+preview(u.Scheme), "")
	case u.Host == "":
		r.mistake(n, want+"one without a host", "")
	}
}
