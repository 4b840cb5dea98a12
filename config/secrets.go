package config

import (
	"cmp"
	"errors"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/joho/godotenv"

	"rlmproxy/private"
)

// maxSecretFile bounds what ${file:PATH} reads: a key or a certificate chain.
const maxSecretFile = 64 << 10

// withKeyring is v with the keyring that the settings of all layers say.
func (v variables) withKeyring(file map[string]any, opts Options) variables {
	if v.asIs = opts.Keyring == nil; !v.asIs {
		p, _, _ := layered(file, opts)
		v.keyring = func(name string) (string, error) { return opts.Keyring(p.StateDir, name) }
	}
	return v
}

// fetch is the secret that a file or the keyring has.
func (v variables) fetch(kind, name string) (string, error) {
	if kind == "file" {
		return secretFile(absolute(v.inHome(name), v.dir))
	}
	return v.keyring(name)
}

// secretFile is the content of a file without the end of its last line.
func secretFile(path string) (string, error) {
	data, err := private.Read(path, maxSecretFile)
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	switch {
	case err != nil:
		return "", cause(err)
	case text == "":
		return "", errors.New("the file is empty")
	}
	return text, nil
}

// secretName is the name of a variable or header whose value is likely to be a secret.
var secretName = regexp.MustCompile(`(?i)token|secret|passw|passphrase|key$|[_-](pwd|pat)$|authorization|cookie`)

// environName is what the variables of a file may be called.
var environName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// envFile gives s the variables of a file with a NAME=value in each line, but for those that
// its entry has.
func (r *reader) envFile(n node, s *Server, path string) {
	text, err := secretFile(path)
	if err != nil {
		r.mistake(n, err.Error(), "")
		return
	}
	env, err := godotenv.Unmarshal(text)
	for name := range env {
		if !environName.MatchString(name) {
			err = errors.New("not a name")
		}
	}
	if err != nil || strings.ContainsRune(text, 0) { // the error quotes the file
		r.mistake(n, "not a file of variables: expected NAME=value on each line", "")
		return
	}
	maps.Copy(env, s.Env)
	s.Env = env
}

// SecretName reports whether the value of a variable or header of that name is likely to be
// a secret.
func SecretName(name string) bool { return secretName.MatchString(name) }

// minSecret is the shortest text that is looked for as a secret: shorter ones stand by
// chance in what is no secret.
const minSecret = 8

// addSecret notes a value, and the lines of one that has several, as something not to be
// shown.
func (s *Server) addSecret(value string) {
	for _, line := range append(strings.Split(value, "\n"), value) {
		if line = strings.TrimSpace(line); len(line) >= minSecret && !reference.MatchString(line) && !slices.Contains(s.Secrets, Secret(line)) {
			s.Secrets = append(s.Secrets, Secret(line))
		}
	}
}

// addNamed notes the values of variables and headers whose names say that they are
// secrets: those of the entry, and of environ what the server gets.
func (s *Server) addNamed(environ []string) {
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if secretName.MatchString(name) {
			s.addSecret(s.Env[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if secretName.MatchString(name) {
			scheme, credentials, _ := strings.Cut(s.Headers[name], " ")
			s.addSecret(cmp.Or(credentials, scheme))
		}
	}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		for _, glob := range s.InheritEnv {
			if ok, _ := path.Match(glob, name); ok && secretName.MatchString(name) {
				s.addSecret(value)
			}
		}
	}
}
