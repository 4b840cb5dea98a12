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
func (r *reader) expandServer(s *Server, at map[string]node, vars variables) {
	expand := func(text *string, n node, within string) {
		expanded, missing := vars.expand(*text)
		*text = expanded
		// A server that is off may well lack its secrets.
		if len(missing) > 0 && !s.Disabled {
			r.warn(n.value.StartOffset, n.path+within, "not set, left as written: "+missing[0], "")
		}
	}
	expand(&s.Command, at["command"], "")
	if n, ok := at["command"]; ok && s.Command == "" && n.literal().Kind() == '"' {
		r.mistake(n, "the command is empty", "")
	}
	expand(&s.Cwd, at["cwd"], "")
	expand(&s.URL, at["url"], "")
	if n, ok := at["url"]; ok && n.literal().Kind() == '"' && !reference.MatchString(s.URL) {
		r.checkURL(n, s.URL)
	}
	for i := range s.Args {
		expand(&s.Args[i], at["args"], fmt.Sprintf("[%d]", i))
	}
	expandMap := func(m map[string]string, n node) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			value := m[name]
			expand(&value, n, "."+shownKey(name))
			m[name] = value
		}
	}
	expandMap(s.Env, at["env"])
	expandMap(s.Headers, at["headers"])
	r.checkHeaders(s.Headers, at["headers"])

	s.Command = vars.inHome(s.Command)
	if s.Cwd = vars.inHome(s.Cwd); s.Cwd != "" && !filepath.IsAbs(s.Cwd) && !strings.HasPrefix(s.Cwd, "~/") {
		s.Cwd = filepath.Join(vars.dir, s.Cwd)
	}
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
