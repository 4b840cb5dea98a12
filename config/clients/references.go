package clients

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	inDollar = regexp.MustCompile(`\$\{([^{}]*)\}`)
	inBare   = regexp.MustCompile(`\$\{([^{}]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)`)
	inBraces = regexp.MustCompile(`\{((?:env|file):[^{}]+)\}`)

	toSecret = regexp.MustCompile(`\$\{(?:file|keyring):`) // in mcp.json

	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	withDefault  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(:-.*)?$`)
	secretID     = regexp.MustCompile(`^[!-|~]{1,64}$`) // what a keyring takes
)

// translate writes the references in text as mcp.json has them. None is replaced by what it
// stands for, but those to the project's folder.
func (r reading) translate(key, text string) string {
	pattern := inDollar
	switch r.p.Client.references {
	case bare:
		pattern = inBare
	case braces:
		r.literal(key, text)
		pattern = inBraces
	case literal:
		r.literal(key, text)
		return text
	}
	return pattern.ReplaceAllStringFunc(text, func(ref string) string {
		m := pattern.FindStringSubmatch(ref)
		name := m[1]
		if len(m) > 2 && m[2] != "" {
			name = m[2]
		}
		return r.reference(key, ref, name)
	})
}

// literal notes that a text means here what it does not mean there. Where it would be a
// secret of the person's, the server stays: the file may be a stranger's project's.
func (r reading) literal(key, text string) {
	switch {
	case !inDollar.MatchString(text):
		return
	case toSecret.MatchString(text):
		r.stays("%s would become a reference to a file or the keyring, which it is not in %s", key, r.p.Client.Title)
		return
	}
	r.note("%s holds ${…}, which %s passes on unchanged and rlmproxy replaces", key, r.p.Client.Title)
}

// reference is ours for name.
func (r reading) reference(key, ref, name string) string {
	kind, rest, _ := strings.Cut(name, ":")
	folder := r.p.folder
	switch {
	case kind == "env" && withDefault.MatchString(rest):
		return "${" + rest + "}"
	case name == "userHome":
		return r.p.home
	case (kind == "workspaceFolder" || name == "workspaceRoot" || name == "cwd") && folder != "":
		return folder
	case kind == "workspaceFolderBasename" && folder != "":
		return filepath.Base(folder)
	case name == "pathSeparator" || name == "/":
		return string(filepath.Separator)
	case kind == "input" && secretID.MatchString(rest):
		secret := rest
		if r.p.Scope == "project" { // which does not get at the person's others by their names
			secret += "-" + short(folder)
		}
		if !slices.Contains(r.s.Secrets, secret) {
			r.s.Secrets = append(r.s.Secrets, secret)
		}
		return "${keyring:" + secret + "}"
	case kind == "file" && rest != "" && (r.p.Client.references == braces || r.p.Client.Name == "windsurf"):
		if !filepath.IsAbs(rest) && !strings.HasPrefix(rest, "~/") { // from where the file is
			rest = filepath.Join(filepath.Dir(r.p.Path), rest)
		}
		return "${file:" + rest + "}"
	case withDefault.MatchString(name) && kind != "workspaceFolder" && kind != "workspaceFolderBasename" && name != "workspaceRoot":
		return "${" + name + "}"
	}
	r.stays("%s holds %s, which only %s can replace", key, ref, r.p.Client.Title)
	return ref
}

// short tells folders apart that have the same name.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// plainName keeps letters and digits.
func plainName(c rune) rune {
	if unicode.IsLetter(c) || unicode.IsDigit(c) {
		return c
	}
	return '-'
}
