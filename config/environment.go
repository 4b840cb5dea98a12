package config

import (
	"strings"
	"unicode"
)

// inheritEnv reads the variables of ours that a server gets: true for all, false for none
// but the usual ones, or names and globs.
func (r *reader) inheritEnv(n node) []string {
	switch n.kind() {
	case 't':
		return []string{"*"}
	case 'f':
		return nil
	case '[':
		list := r.globs(n)
		for i, each := range n.elements() {
			if strings.Contains(list[i], "=") {
				each.secret = true // it may have a value
				r.wrong(each, "the name of a variable", "write values in env")
			}
		}
		return list
	}
	r.wrong(n, "true, false or an array of names", `names are in brackets: ["GITHUB_TOKEN", "AWS_*"]`)
	return nil
}

// checkInherited warns of a name that no variable here has: a slip, or one that is to be
// set before the start. A glob may well match none.
func (r *reader) checkInherited(s *Server, n node, vars variables) {
	for i, each := range n.elements() {
		if s.Disabled || each.kind() != '"' || strings.ContainsAny(s.InheritEnv[i], `*?[\`) {
			continue
		}
		if _, ok := vars.environ[s.InheritEnv[i]]; !ok {
			r.warn(each, "not set here: "+preview(s.InheritEnv[i]), "")
		}
	}
}

// checkVariable notes a name that no variable can have. The name is not shown, for it may
// be followed by its value.
func (r *reader) checkVariable(n node) {
	if n.key == "" || strings.ContainsFunc(n.key, func(r rune) bool { return r == '=' || unicode.IsSpace(r) || unicode.IsControl(r) }) {
		r.mistake(n.ofParent(), "not the name of a variable", "a name has no space and no =")
	}
}
