package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// variables is what ${VAR} and ~ stand for.
type variables struct {
	environ map[string]string
	home    string // "" when not known
	dir     string // the config file's folder, absolute
}

// newVariables reads environ, in which the last of equal names wins.
func newVariables(environ []string, dir string) variables {
	v := variables{environ: map[string]string{}, dir: dir}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			v.environ[name] = value
		}
	}
	v.home = v.environ["HOME"]
	if v.home == "" {
		v.home = v.environ["USERPROFILE"]
	}
	return v
}

// reference is ${VAR} or ${VAR:-default}. One host writes ${env:VAR}.
var reference = regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// expand replaces the references in s, once: what a value holds is not
// expanded again. An empty variable takes the default, as in a shell. An
// undefined one without default stays as written and is listed in missing.
func (v variables) expand(s string) (expanded string, missing []string) {
	expanded = reference.ReplaceAllStringFunc(s, func(ref string) string {
		m := reference.FindStringSubmatch(ref)
		value, ok := v.environ[m[1]]
		switch {
		case m[2] != "" && value == "":
			return strings.TrimPrefix(m[2], ":-")
		case ok:
			return value
		}
		missing = append(missing, ref)
		return ref
	})
	return expanded, missing
}

// expandServer replaces the references in s and makes its paths absolute.
func (r *reader) expandServer(s *Server, fields map[string]node, vars variables) {
	expand := func(text, key, within string) string {
		expanded, missing := vars.expand(text)
		n := fields[key]
		n.path += within
		// A server that is off may well lack its secrets.
		if len(missing) > 0 && !s.Disabled {
			r.warn(n, "not set, left as written: "+missing[0], "")
		}
		if strings.ContainsRune(expanded, 0) {
			r.mistake(n, "holds a zero byte, which no program can be given", "")
		}
		return expanded
	}
	s.Command = vars.inHome(expand(s.Command, "command", ""))
	if n, ok := fields["command"]; ok && s.Command == "" && n.kind() == '"' {
		r.mistake(n, "the command is empty", "")
	}
	s.Cwd = vars.inHome(expand(s.Cwd, "cwd", ""))
	if s.Cwd != "" && !strings.HasPrefix(s.Cwd, "~/") {
		s.Cwd = absolute(s.Cwd, vars.dir)
	}
	s.URL = expand(s.URL, "url", "")
	if n, ok := fields["url"]; ok && n.kind() == '"' && !reference.MatchString(s.URL) {
		r.checkURL(n, s.URL)
	}
	for i := range s.Args {
		s.Args[i] = expand(s.Args[i], "args", fmt.Sprintf("[%d]", i))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		s.Env[name] = expand(s.Env[name], "env", "."+shownKey(name))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		s.Headers[name] = expand(s.Headers[name], "headers", "."+shownKey(name))
	}
	r.checkHeaders(s.Headers, fields["headers"])
	s.Auth.ClientID = strings.TrimSpace(expand(s.Auth.ClientID, "auth", ".clientId"))
	s.Auth.ClientSecret = strings.TrimSpace(expand(s.Auth.ClientSecret, "auth", ".clientSecret"))
	r.checkInherited(s, fields["inheritEnv"], vars)
}

// absolute is path, from dir where it is relative.
func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// inHome replaces ~ and a leading ~/, as a shell would.
func (v variables) inHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	if (ok || path == "~") && v.home != "" {
		if path == "~" {
			rest = ""
		}
		return filepath.Join(v.home, rest)
	}
	return path
}
