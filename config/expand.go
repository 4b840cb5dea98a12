package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// variables is what ${VAR}, ${file:PATH}, ${keyring:NAME} and ~ stand for.
type variables struct {
	environ map[string]string
	home    string // "" when not known
	dir     string // the config file's folder, absolute
	keyring func(name string) (string, error)
	asIs    bool // secrets of files and the keyring are not looked up
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

// reference is ${VAR} or ${VAR:-default}, ${file:PATH} or ${keyring:NAME}. One host writes
// ${env:VAR}.
var reference = regexp.MustCompile(`\$\{(?:(file|keyring):([^}-][^}]*|)|(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?)\}`)

// An expansion is a text whose references were replaced.
type expansion struct {
	text     string
	fetches  bool     // it refers to files or the keyring
	missing  []string // references to variables that are not set, which stay
	secrets  []string // of files and the keyring, and of variables whose names say so
	mistakes []string // why there is no secret, after the reference
}

// expand replaces the references in s, once: what a value holds is not
// expanded again. An empty variable takes the default, as in a shell.
func (v variables) expand(s string) (e expansion) {
	e.text = reference.ReplaceAllStringFunc(s, func(ref string) string {
		m := reference.FindStringSubmatch(ref)
		if m[1] == "" {
			return v.variable(ref, m[3], m[4], &e)
		}
		e.fetches = true
		if v.asIs {
			return ref
		}
		secret, err := v.fetch(m[1], m[2])
		if err != nil {
			e.mistakes = append(e.mistakes, fmt.Sprintf("%s: %v", ref, err))
			return ref
		}
		e.secrets = append(e.secrets, secret)
		return secret
	})
	return e
}

// variable is the value of a variable, or ref where it has none.
func (v variables) variable(ref, name, otherwise string, e *expansion) string {
	value, ok := v.environ[name]
	switch {
	case otherwise != "" && value == "":
		return strings.TrimPrefix(otherwise, ":-")
	case !ok:
		e.missing = append(e.missing, ref)
		return ref
	case secretName.MatchString(name):
		e.secrets = append(e.secrets, value)
	}
	return value
}

// runs is what s runs, its secrets as references, or nil if it refers to none.
func (v variables) runs(s *Server) []string {
	written := append([]string{s.Command}, s.Args...)
	if s.URL != "" {
		written = []string{s.URL}
	}
	v.asIs = true
	fetches := false
	for i, text := range written {
		e := v.expand(text)
		written[i] = e.text
		fetches = fetches || e.fetches
	}
	if !fetches {
		return nil
	}
	return written
}

// unset is what helps whoever refers to a variable that is not set, as ${NAME}.
func unset(ref string) string {
	name := strings.TrimPrefix(strings.Trim(ref, "${}"), "env:")
	return fmt.Sprintf("set it in the program that starts rlmproxy, or write ${keyring:%s} and run rlmproxy secret set %s", name, name)
}

// expandServer replaces the references in s and makes its paths absolute.
func (r *reader) expandServer(s *Server, fields map[string]node, vars variables) {
	vars.asIs = vars.asIs || s.Disabled // which may well lack its secrets
	s.Runs = vars.runs(s)
	expand := func(text, key, within string) string {
		e := vars.expand(text)
		n := fields[key]
		n.path += within
		if len(e.missing) > 0 && !s.Disabled {
			r.warn(n, e.missing[0]+" is not set, and stays as written", unset(e.missing[0]))
		}
		if len(e.mistakes) > 0 {
			text, hint, _ := strings.Cut(e.mistakes[0], "; ") // as the keyring has it
			r.mistake(n, text, hint)
		}
		if strings.ContainsRune(e.text, 0) {
			r.mistake(n, "it has a zero byte, which cannot be passed to a program", "")
		}
		for _, secret := range e.secrets {
			s.addSecret(secret)
		}
		return e.text
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
	if n, ok := fields["envFile"]; ok && n.kind() == '"' {
		if path := expand(n.literal().String(), "envFile", ""); !vars.asIs && s.URL == "" {
			r.envFile(n, s, absolute(vars.inHome(path), vars.dir))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		s.Headers[name] = expand(s.Headers[name], "headers", "."+shownKey(name))
	}
	r.checkHeaders(s.Headers, fields["headers"])
	s.Auth.ClientID = strings.TrimSpace(expand(s.Auth.ClientID, "auth", ".clientId"))
	s.Auth.ClientSecret = strings.TrimSpace(expand(s.Auth.ClientSecret, "auth", ".clientSecret"))
	s.addSecret(s.Auth.ClientSecret)
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
