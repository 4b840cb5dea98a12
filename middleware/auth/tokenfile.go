package auth

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"rlmproxy/private"
)

// maxTokensFile is far above any file of tokens.
const maxTokensFile = 1 << 20

// ErrNoTokens is in the error for a file that is as it should be, and has no token.
var ErrNoTokens = errors.New("there is no token; write one per line, as in alice: TOKEN")

// ReadTokens reads a file as [ParseTokens] does. The warning, if any, says
// that others on this machine can read it.
func ReadTokens(path string) (tokens []Token, warning string, err error) {
	data, err := private.Read(path, maxTokensFile)
	if err != nil {
		return nil, "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, "", err
	}
	if tokens, err = ParseTokens(path, string(data)); err != nil {
		return nil, "", err
	}
	if len(tokens) == 0 {
		return nil, "", fmt.Errorf("%s: %w", path, ErrNoTokens)
	}
	// Windows has no such bits; Go makes them up.
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		warning = fmt.Sprintf("%s: other users can read the tokens (mode %04o); chmod 600 keeps them private", path, mode)
	}
	return tokens, warning, nil
}

// ParseTokens reads lines of "agent: token" or "agent=token". Blank lines and
// those that begin with # are passed over; a comma ends a line too, so that a
// variable can hold several. An agent may have several tokens. [New] checks that no two
// agents have the same.
//
// Errors begin with source and the line. They show nothing of the line: what
// stands where the agent should may be the secret.
func ParseTokens(source, text string) (tokens []Token, err error) {
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		n++
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		for entry := range strings.SplitSeq(line, ",") {
			if entry = strings.TrimSpace(entry); entry == "" {
				continue
			}
			t, err := parseToken(entry)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", source, n, err)
			}
			tokens = append(tokens, t)
		}
	}
	return tokens, nil
}

func parseToken(entry string) (Token, error) {
	at := strings.IndexAny(entry, ":=")
	if at < 0 {
		return Token{}, errors.New(`expected "agent: token" or "agent=token"`)
	}
	t := Token{Agent: strings.TrimSpace(entry[:at]), Secret: strings.TrimSpace(entry[at+1:])}
	return t, checkToken(t)
}
