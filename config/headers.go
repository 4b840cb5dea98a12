package config

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
)

// SetHeaders reads the headers of a server that the command line gives, each as in
// "Authorization: Bearer ${TOKEN}", into s. Errors hold no value, which may be a secret,
// and a variable that is not set is one: nobody would see a warning before the
// server refuses us.
func (s *Server) SetHeaders(lines []string, opts Options) error {
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return err
	}
	vars := newVariables(opts.Environ, dir).withKeyring(nil, opts)
	headers := map[string]string{}
	for i, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if !ok || !isHeaderName(name) {
			of := ""
			if len(lines) > 1 {
				of = fmt.Sprintf(" (number %d of %d)", i+1, len(lines))
			}
			if !ok {
				return fmt.Errorf("it has no colon%s", of)
			}
			return fmt.Errorf("the text before the colon is not the name of a header%s", of)
		}
		name = http.CanonicalHeaderKey(name)
		e := vars.expand(strings.TrimSpace(value))
		value = strings.TrimSpace(e.text)
		switch _, twice := headers[name]; {
		case twice:
			return fmt.Errorf("%s is given twice", name)
		case len(e.missing) > 0:
			return fmt.Errorf("%s: %s is not set", name, e.missing[0])
		case len(e.mistakes) > 0:
			return errors.New(name + ": " + e.mistakes[0])
		case value == "":
			return errors.New(name + ": the value is empty")
		case !isHeaderValue(value):
			return errors.New(name + ": " + controlInHeader)
		}
		headers[name] = value
		for _, secret := range e.secrets {
			s.addSecret(secret)
		}
	}
	s.Headers = headers
	return nil
}

// checkHeaderName notes a name that no header can have. It is not shown, for it may be
// followed by its value.
func (r *reader) checkHeaderName(n node) {
	if !isHeaderName(n.key) {
		r.mistake(n.ofParent(), "not the name of a header", "a name has letters, digits and -; the value comes after the colon, in its own quotes")
	}
}

// checkHeaders notes headers that no request can carry, without their values, and
// trims values: a secret from a file often ends with its line.
func (r *reader) checkHeaders(headers map[string]string, n node) {
	seen := map[string]bool{}
	path := n.path
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		headers[name] = strings.TrimSpace(headers[name])
		n.path = pathTo(path, name)
		switch {
		case !isHeaderName(name): // noted
		case !isHeaderValue(headers[name]):
			r.mistake(n, controlInHeader, "")
		case seen[http.CanonicalHeaderKey(name)]:
			r.mistake(n, "the header is there twice", "")
		}
		seen[http.CanonicalHeaderKey(name)] = true
	}
}

const controlInHeader = "the value has a line break or another control character"

// isHeaderValue reports whether net/http sends s.
func isHeaderValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// isHeaderName reports whether s is a token (RFC 9110, section 5.6.2).
func isHeaderName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}
