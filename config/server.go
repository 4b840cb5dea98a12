package config

import (
	"cmp"
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

// noQuarantine is what helps whoever quarantines tools that are not pinned.
const noQuarantine = "it keeps accepted tools as pins: leave pinTools on, or quarantine off"

// serverTypes maps what hosts write as a server's type to ours.
var serverTypes = map[string]string{
	"stdio": "stdio", "local": "stdio", "sse": "sse", "remote": "", "http": "http", "streamable-http": "http",
	"streamable_http": "http", "streamableHttp": "http", "streamableHTTP": "http",
}

// isolations are whom a process of a server is for: all agents, or one.
var isolations = []string{"shared", "agent"}

// Exposures are how agents may come to know tools, and features what a server may offer.
var (
	Exposures = []string{"auto", "all", "search", "groups"}
	features  = []string{"tools", "resources", "prompts"}
)

// redactions are what becomes of secrets in results.
var redactions = []string{"on", "off", "report"}

// servers reads mcpServers.
func (r *reader) servers(n node, vars variables) []Server {
	members, ok := r.object(n)
	if ok && len(members) == 0 {
		r.mistake(n, "there is no server", example)
	}
	var list []Server
	for _, m := range members {
		before := r.noted
		if strings.TrimSpace(m.key) == "" {
			r.mistake(m.atKey(), "a server's name is empty", "")
		} else if length := utf8.RuneCountInString(m.key); length > maxNameLength {
			r.mistake(m.atKey(), fmt.Sprintf("a server's name has %d characters; %d are allowed", length, maxNameLength), "")
		}
		if s := r.server(m, vars); r.noted == before {
			list = append(list, s)
		}
	}
	return list
}

// server reads one entry.
func (r *reader) server(entry node, vars variables) Server {
	s := Server{Name: entry.key}
	members, ok := r.object(entry)
	if !ok {
		return s
	}
	fields := map[string]node{} // by our spelling
	misspelt := false           // command or url, which is a mistake already
	for _, n := range members {
		key := cmp.Or(otherSpellings[n.key], n.key)
		_, twice := fields[key]
		switch {
		case !slices.Contains(serverKeys, key):
			near := r.foreignKey(n)
			misspelt = misspelt || near == "command" || near == "url"
		case twice:
			r.mistake(n.atKey(), fmt.Sprintf("%q is there twice, in two spellings", key), "")
		default:
			fields[key] = n
			r.field(key, n, &s)
		}
	}
	if n, ok := fields["maxProcesses"]; ok && s.Isolation != "agent" {
		r.warn(n, `no effect without "isolation": "agent"`, "")
	}
	if s.Quarantine != nil && *s.Quarantine && s.PinTools != nil && !*s.PinTools {
		r.mistake(fields["quarantine"], "it needs pinTools", noQuarantine)
	}
	r.checkKind(entry, &s, fields, misspelt)
	r.expandServer(&s, fields, vars)
	return s
}

// field reads one key of a server, in our spelling.
func (r *reader) field(key string, n node, s *Server) {
	switch key {
	case "command", "url", "args":
		// Tokens are passed in these too, so they are not shown either.
		n.secret = true
	}
	switch key {
	case "command":
		s.Command = strings.TrimSpace(r.text(n))
		r.checkBackslash(n, s.Command)
	case "args":
		s.Args = r.texts(n)
	case "env":
		s.Env = r.textMap(n, r.checkVariable)
	case "envFile":
		r.text(n) // expandServer reads it
	case "inheritEnv":
		s.InheritEnv = r.inheritEnv(n)
	case "cwd":
		s.Cwd = r.text(n)
		r.checkBackslash(n, s.Cwd)
	case "url":
		s.URL = strings.TrimSpace(r.text(n))
		if n.key == "httpUrl" {
			s.Type = "http"
		}
	case "headers":
		s.Headers = r.textMap(n, r.checkHeaderName)
	case "auth":
		s.Auth = r.auth(n)
	case "type":
		if text := r.text(n); text != "" {
			if kind, ok := serverTypes[text]; ok {
				s.Type = kind
			} else {
				r.noneOf(n, []string{"stdio", "http", "sse"})
			}
		}
	case "isolation":
		s.Isolation = r.word(n, isolations)
	case "redact":
		s.Redact = r.word(n, redactions)
	case "maxProcesses":
		s.MaxProcesses = r.whole(n, 1, 10_000)
	case "rateLimit":
		s.RateLimit = r.whole(n, 1, mostCalls)
	case "concurrency":
		s.Concurrency = r.whole(n, 1, mostCalls)
	case "timeout":
		s.Timeout = r.timeout(n)
	case "disabled":
		if truth := r.truth(n); truth != nil {
			s.Disabled = *truth == (n.key == "disabled")
		}
	case "prefix":
		s.Prefix = new(r.text(n))
		if length := utf8.RuneCountInString(*s.Prefix); length > maxNameLength {
			r.mistake(n, fmt.Sprintf("a prefix has %d characters; %d are allowed", length, maxNameLength), "")
		}
	case "description":
		if n.kind() == '"' { // another host may write anything here
			s.Description = r.text(n)
		}
	case "exposure":
		s.Exposure = r.word(n, Exposures)
	case "readOnly":
		s.ReadOnly = r.truth(n)
	case "features":
		s.Features = []string{}
		for _, each := range n.elements() {
			s.Features = append(s.Features, r.word(each, features))
		}
		if n.kind() != '[' {
			r.texts(n)
		}
	case "shape":
		s.Shape = r.truth(n)
	case "maxResponseTokens":
		s.MaxResponseTokens = r.responseTokens(n)
	case "allow":
		s.Allow = append(s.Allow, r.globs(n)...)
	case "deny":
		s.Deny = r.globs(n)
	case "hide":
		s.Hide = r.hidden(n)
	case "freshCalls":
		s.FreshCalls = r.globs(n)
	case "trustHints":
		s.TrustHints = r.truth(n)
	case "pinTools":
		s.PinTools = r.truth(n)
	case "quarantine":
		s.Quarantine = r.truth(n)
	case "handles":
		s.Handles = r.truth(n)
	case "subModel":
		s.SubModel = r.truth(n)
	case "tools":
		// Another host writes here the list of tools that it admits.
		if n.kind() == '[' {
			s.Allow = append(s.Allow, r.globs(n)...)
		} else {
			s.Tools = r.tools(n)
		}
	}
}

// word is the string n, which must be one of words, or "" with a mistake noted.
func (r *reader) word(n node, words []string) string {
	if text := n.literal().String(); n.kind() == '"' && slices.Contains(words, text) {
		return text
	}
	r.noneOf(n, words)
	return ""
}

// checkBackslash warns of a path that a single backslash has changed: "C:\new" has a
// line break.
func (r *reader) checkBackslash(n node, path string) {
	if strings.ContainsAny(path, "\b\f\n\r\t") {
		r.warn(n, "it has a line break, a tab or a similar character", `a backslash is written \\, as in "C:\\new"`)
	}
}

// checkKind notes where the entry does not say in exactly one way how to reach s, and
// warns of what has no effect on that kind of server. Other hosts write empty keys.
func (r *reader) checkKind(entry node, s *Server, fields map[string]node, misspelt bool) {
	noEffect := func(key string, set bool, why, hint string) {
		if set {
			r.warn(fields[key], "no effect: "+why, hint)
		}
	}
	_, hasCommand := fields["command"]
	_, hasURL := fields["url"]
	switch {
	case hasCommand && hasURL:
		r.mistake(entry.atKey(), "both command and url are set", "keep one")
	case !hasCommand && !hasURL:
		if !misspelt {
			r.mistake(entry.atKey(), "neither command nor url is set", "")
		}
	case hasCommand:
		if s.Type == "http" || s.Type == "sse" {
			r.mistake(fields["type"], fmt.Sprintf("type %q needs a url, but command is set", s.Type), "")
		}
		s.Type = "stdio"
		noEffect("headers", len(s.Headers) > 0, "only servers at a url get headers", "pass secrets to it in env")
	default:
		if s.Type == "stdio" {
			r.mistake(fields["type"], `type "stdio" needs a command, but url is set`, "")
		}
		_, hasAuth := fields["auth"]
		noEffect("auth", hasAuth && s.HasAuthorization(), "headers already has an Authorization", "keep one")
		const remote = "rlmproxy does not start a server at a url"
		noEffect("args", len(s.Args) > 0, remote, "")
		_, hasEnvFile := fields["envFile"]
		noEffect("env", len(s.Env) > 0, remote, "pass secrets to it in headers")
		noEffect("envFile", hasEnvFile, remote, "pass secrets to it in headers")
		noEffect("cwd", s.Cwd != "", remote, "")
		noEffect("inheritEnv", len(s.InheritEnv) > 0, remote, "pass secrets to it in headers")
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
	case u.Hostname() == "":
		r.mistake(n, want+"one without a host", "")
	case !IsPort(u.Port()):
		r.mistake(n, want+"the port "+preview(u.Port()), "a port is at most 65535")
	}
}
