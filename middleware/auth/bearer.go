package auth

import (
	"regexp"
	"strings"
)

// maxTokenBytes bounds a token. Issuers that list groups in a JWT stay below
// 4 KiB, the limit that servers in front of ours set for a header.
const maxTokenBytes = 8 << 10

// isToken reports whether s is a b64token of RFC 6750, section 2.1.
var isToken = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`).MatchString

// bearer takes the token out of the values of Authorization.
func bearer(values []string) (token string, no *refusal) {
	if len(values) == 0 {
		return "", noToken()
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.Trim(token, " ")
	switch {
	case !strings.EqualFold(scheme, "Bearer"):
		return "", invalidToken("not a bearer token")
	case len(values) > 1 || len(token) > maxTokenBytes || !isToken(token):
		return "", invalidToken("malformed token")
	}
	return token, nil
}
