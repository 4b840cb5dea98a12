package config

import (
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"time"
	"unicode"
)

// Units of settings that are read in ways of their own.
const (
	unitURL  = "URL"  // not shown in errors: it may hold a key
	unitFile = "file" // relative to the folder of mcp.json, or the working directory
	unitList = "list" // an array in the file, or as elsewhere with commas
	unitText = "text"
)

// envOnly is the setting that holds secrets. Whoever may list processes sees
// flags, and mcp.json is shared and committed.
const envOnly = "httpTokens"

// httpSettings are those of serving over HTTP.
func httpSettings() []Setting {
	return []Setting{
		{"httpTokensFile", "", unitFile, "bearer tokens for HTTP, a line each: the agent, a colon, its token", word},
		{envOnly, "", "secrets", "as in httpTokensFile, with commas for lines; in the environment only", word},
		{"httpJWTIssuer", "", unitURL, "admit JSON web tokens of this issuer", address},
		{"httpJWTAudience", "", unitText, "what such a token must be for; without it, httpPublicURL", word},
		{"httpJWTKeysURL", "", unitURL, "where the issuer's keys (JWKS) are; without it, where the issuer says", address},
		{"httpJWTAgentClaim", "sub", unitText, "claim of such a token that names the agent", word},
		{"httpPublicURL", "", unitURL, "where clients reach the endpoint, as in https://mcp.example.com/mcp", address},
		{"httpAllowedHosts", "", unitList, "names that clients may call this server by, besides loopback names and that of httpPublicURL", list(isHost, `a name such as "mcp.example.com" or "mcp.example.com:8080"`)},
		{"httpAllowedOrigins", "", unitList, "origins of browser pages that may use it, besides its own", list(isOrigin, `an origin such as "https://inspector.example.com"`)},
		// Agents that wait for a person come back within half an hour, mostly.
		{"sessionIdleSeconds", "1800", "seconds", "how long a session over HTTP lasts without a request or an open stream", durationIn(time.Second, 30*24*time.Hour)},
		// A client that was cut off comes back after a second or so, and a few times.
		{"sessionResumeSeconds", "10", "seconds", "how long calls over HTTP go on for a client that was cut off and may resume their stream", durationIn(time.Second, 10*time.Minute)},
	}
}

// EnvOnly reports whether s is an environment variable, but no flag and no key
// of the file.
func (s Setting) EnvOnly() bool { return s.Name == envOnly }

// textual reports whether the value of s is a string in the file.
func (s Setting) textual() bool {
	return s.Unit == unitText || s.Unit == unitURL || s.Unit == unitFile || s.Unit == unitList
}

// private reports whether the value of s is not to be shown.
func (s Setting) private() bool { return s.EnvOnly() || s.Unit == unitURL }

// A Secret is text that does not show when it is printed, logged or marshalled.
type Secret string

const notShown = "(not shown)"

// Format prints the same whatever s is and whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, notShown) }

// MarshalText is what slog and encoding/json write.
func (s Secret) MarshalText() ([]byte, error) { return []byte(notShown), nil }

// word reads text that is not empty.
func word(text string) (any, string) {
	if text = strings.TrimSpace(text); text == "" || strings.ContainsRune(text, 0) {
		return nil, "text"
	}
	return text, ""
}

// address reads a URL. Where it must be https is for its user to say.
func address(text string) (any, string) {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || strings.ContainsFunc(text, unicode.IsControl) {
		return nil, "a URL such as https://example.com"
	}
	return text, ""
}

// list reads texts with commas between them.
func list(valid func(string) bool, each string) parser {
	return func(text string) (any, string) {
		var all []string
		for entry := range strings.SplitSeq(text, ",") {
			entry = strings.TrimSpace(entry)
			if !valid(entry) {
				return nil, each
			}
			all = append(all, entry)
		}
		return all, ""
	}
}

// isHost and isOrigin catch the slips; middleware/auth checks the rest.
func isHost(s string) bool { return s != "" && !strings.ContainsAny(s, "/*@ \x00") }

func isOrigin(s string) bool {
	scheme, rest, ok := strings.Cut(s, "://")
	return ok && scheme != "" && isHost(strings.TrimSuffix(rest, "/"))
}

// listed is the setting s from the array n, or nil with a mistake noted.
func (r *reader) listed(n node, s Setting) any {
	all := []string{}
	before := len(r.mistakes)
	for i, text := range r.texts(n) {
		if len(r.mistakes) > before {
			return nil
		}
		value, want := s.parse(text)
		if want != "" {
			r.mistake(n, fmt.Sprintf("expected %s, found %s", want, preview(text)), fmt.Sprintf("it is entry %d", i+1))
			return nil
		}
		all = append(all, value.([]string)...)
	}
	if len(r.mistakes) > before {
		return nil
	}
	return all
}

// placed is value, and for a file its path from where paths start in vars.
func (s Setting) placed(value any, vars variables) any {
	path, ok := value.(string)
	if !ok || s.Unit != unitFile {
		return value
	}
	if path = vars.inHome(path); filepath.IsAbs(path) || vars.dir == "" {
		return path
	}
	return filepath.Join(vars.dir, path)
}

// checkHTTP notes settings that would have no effect: whoever sets one of
// them believes that tokens are asked for.
func (p *Proxy) checkHTTP() ErrorList {
	if p.HTTPJWTIssuer != "" {
		return nil
	}
	var mistakes ErrorList
	for _, s := range []struct {
		name string
		set  bool
	}{
		{"httpJWTAudience", p.HTTPJWTAudience != ""}, {"httpJWTKeysURL", p.HTTPJWTKeysURL != ""}, {"httpJWTAgentClaim", p.HTTPJWTAgentClaim != "sub"},
	} {
		if s.set {
			mistakes = append(mistakes, Mistake{Key: s.name, Text: "set without httpJWTIssuer, so no token is verified", Hint: "set both or none"})
		}
	}
	return mistakes
}
