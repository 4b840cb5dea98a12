package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
)

// A Token is a static bearer token and the agent that it names.
type Token struct {
	Agent  string // as isAgent admits it
	Secret string // at least 16 characters
}

// Format prints the agent only, whatever the verb.
func (t Token) Format(f fmt.State, _ rune) { io.WriteString(f, "token of "+t.Agent) }

// MarshalText is what slog and encoding/json write.
func (t Token) MarshalText() ([]byte, error) { return fmt.Append(nil, t), nil }

// minSecretBytes is what keeps a token from being guessed over the network:
// 16 random characters have 96 bits, a word has 15.
const minSecretBytes = 16

// A digest stands for a token in memory: all have one length, so comparing
// does not tell that of the secret.
type digest struct {
	agent string
	sum   [sha256.Size]byte
}

// digests checks tokens. Errors count from 1 and do not show a secret, nor an
// agent, where somebody may have written one.
func digests(tokens []Token) ([]digest, error) {
	var list []digest
	for i, t := range tokens {
		d := digest{t.Agent, sha256.Sum256([]byte(t.Secret))}
		if err := checkToken(t); err != nil {
			return nil, fmt.Errorf("token %d: %w", i+1, err)
		}
		for j, earlier := range list {
			switch {
			case earlier.agent == d.agent:
				return nil, fmt.Errorf("token %d: the agent of token %d again", i+1, j+1)
			case earlier.sum == d.sum:
				return nil, fmt.Errorf("token %d: the same token as %d, for another agent", i+1, j+1)
			}
		}
		list = append(list, d)
	}
	return list, nil
}

func checkToken(t Token) error {
	switch {
	case !isAgent(t.Agent):
		return errors.New("the agent's name is not 1 to 64 of letters, digits and -_.@")
	case len(t.Secret) < minSecretBytes:
		return fmt.Errorf("the token has fewer than %d characters; openssl rand -hex 32 makes one", minSecretBytes)
	case len(t.Secret) > maxTokenBytes:
		return fmt.Errorf("the token has more than %d characters", maxTokenBytes)
	case !isToken(t.Secret):
		return errors.New("the token has characters other than letters, digits and -._~+/, with = at its end")
	}
	return nil
}

// isAgent reports whether s names an agent: 1 to 64 ASCII letters, digits and
// -_.@.
func isAgent(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.' || c == '@') {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// match is the agent of token. It compares with every digest, each in
// constant time, so that the time tells neither which one nor how much fits.
func match(all []digest, token string) (agent string, ok bool) {
	sum := sha256.Sum256([]byte(token))
	found := -1
	for i := range all {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], all[i].sum[:]), i, found)
	}
	if found < 0 {
		return "", false
	}
	return all[found].agent, true
}
