package process

import (
	"log/slog"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// usual are the variables of our environment that every server gets: enough to be found
// and to run, and no secrets of other servers. The first line is what the clients of the
// MCP SDKs for TypeScript and Python hand on (DEFAULT_INHERITED_ENV_VARS, taken from
// sudo); that for Go hands on all. Codex adds language, time zone and temporary folder.
// Without those for proxies and their certificates, nothing connects in many companies.
var usual = []string{
	"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER",
	"LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "__CF_USER_TEXT_ENCODING",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
}

// usualOnWindows are those that programs need there besides, by the same clients.
var usualOnWindows = []string{
	"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES",
	"SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE",
	"COMSPEC", "PROGRAMDATA", "PROGRAMFILES(X86)", "PROGRAMW6432", "TMP", "USERDOMAIN", "WINDIR",
}

// ownSettings begins the names of our own settings, some of which are secrets. A server
// gets one only if its entry names it in full.
const ownSettings = "RLMPROXY_"

// inherited is the part of environ that a server gets, which has named more in inherit,
// and the names of the rest.
func inherited(environ, inherit []string) (env, heldBack []string) {
	lists := [][]string{usual, inherit}
	if runtime.GOOS == "windows" {
		lists = append(lists, usualOnWindows)
	}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		own := strings.HasPrefix(name, ownSettings) && !slices.Contains(inherit, name)
		switch {
		case name == "": // Windows keeps the folders of its drives so
			env = append(env, kv)
		case own || !slices.ContainsFunc(lists, func(list []string) bool { return names(list, name) }):
			heldBack = append(heldBack, name)
		case strings.HasPrefix(value, "()") && !names(inherit, name):
			// A function of a shell: not a value, and the SDKs skip it.
		default:
			env = append(env, kv)
		}
	}
	return env, heldBack
}

// names reports whether list has the name of a variable, or a glob for it.
func names(list []string, name string) bool {
	return slices.ContainsFunc(list, func(glob string) bool {
		if runtime.GOOS == "windows" { // where PATH may be Path
			glob, name = strings.ToUpper(glob), strings.ToUpper(name)
		}
		ok, _ := path.Match(glob, name)
		return ok
	})
}

// A missing tells the log of variables that we have and did not hand on, and that the
// server seems to need.
type missing struct {
	heldBack []string // that have not been told of
	told     int
	logger   *slog.Logger
}

// maxTold bounds what is logged of one process: a server may print many names.
const maxTold = 5

// begin tells of variables whose names begin with that of the server, as GITHUB_TOKEN does
// with github: most servers that lack one say so only to those who call them.
func (m *missing) begin(server string) {
	prefix := strings.ToUpper(notInNames.ReplaceAllString(server, "_")) + "_"
	for _, name := range slices.Clone(m.heldBack) {
		if len(prefix) > 2 && strings.HasPrefix(name, prefix) {
			m.tell(name, "a variable that begins with the server's name is set here, but the server does not get it")
		}
	}
}

// read looks at a line that the server wrote to stderr.
func (m *missing) read(line string) {
	for _, name := range constant.FindAllString(line, -1) {
		if name != "PWD" && name != "OLDPWD" {
			m.tell(name, "the server's stderr names a variable that is set here, but the server does not get it")
		}
	}
}

// constant is a word that looks like the name of a variable that a server asks for.
var constant = regexp.MustCompile(`\b[A-Z][A-Z0-9_]{2,}\b`)

// notInNames is what names of variables do not have.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9]+`)

// tell logs the name of a variable, never its value.
func (m *missing) tell(name, why string) {
	i := slices.Index(m.heldBack, name)
	if i < 0 || m.told == maxTold {
		return
	}
	m.heldBack = slices.Delete(m.heldBack, i, i+1)
	m.told++
	m.logger.Warn(why+"; if the server needs it, name it in its entry", "variable", name, "entry", `"inheritEnv": ["`+name+`"]`)
}
