package clients

import (
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"rlmproxy/config"
)

// named is a value of JSON or TOML with its name.
var named = regexp.MustCompile(`("?)([A-Za-z0-9_-]+)("?\s*[:=]\s*)"((?:[^"\\]|\\.)*)"`)

// onlyReferences is a value that says nothing itself.
var onlyReferences = regexp.MustCompile(`^(?:Bearer |Basic |token )?(?:\$?\{[^{}]*\}|\$\w+)?$`)

// Diff shows what changes, as a unified diff, which is empty if nothing does. Values whose
// names say that they are secrets are shown as «…».
func Diff(path string, old, data []byte) string {
	shown := func(text []byte) []byte {
		return named.ReplaceAllFunc(text, func(pair []byte) []byte {
			m := named.FindSubmatch(pair)
			if !config.SecretName(string(m[2])) || onlyReferences.Match(m[4]) {
				return pair
			}
			return []byte(string(m[1]) + string(m[2]) + string(m[3]) + `"«…»"`)
		})
	}
	text := string(diff.Diff(path, shown(old), path, shown(data)))
	if _, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(text, "diff ") {
		text = rest // what names the command
	}
	return text
}
