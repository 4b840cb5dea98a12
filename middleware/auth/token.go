package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"regexp"
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

// A secretSum stands for a token's secret in memory. Tokens are looked up by it:
// how long that takes tells something of the sum at most, and from a sum nobody
// gets to the secret.
type secretSum = [sha256.Size]byte

func sum(secret string) secretSum { return sha256.Sum256([]byte(secret)) }

// tokens are the static tokens of one time. They do not change: others take their place.
type tokens struct{ bySum map[secretSum]*token }

// A token is one that is admitted until its life ends.
type token struct {
	agent string
	life  context.Context
	end   context.CancelCauseFunc
}

// newTokens checks tokens, of which an agent may have several. Errors count from 1 and do
// not show a secret, nor an agent, where somebody may have written one.
func newTokens(list []Token) (*tokens, error) {
	all := &tokens{map[secretSum]*token{}}
	numbers := map[secretSum]int{}
	for i, t := range list {
		err := checkToken(t)
		same := all.bySum[sum(t.Secret)]
		if same != nil && same.agent != t.Agent {
			err = fmt.Errorf("it is the same as token %d, which belongs to another agent", numbers[sum(t.Secret)])
		}
		if err != nil {
			return nil, fmt.Errorf("token %d: %w", i+1, err)
		}
		if same == nil {
			numbers[sum(t.Secret)] = i + 1
			one := &token{agent: t.Agent}
			one.life, one.end = context.WithCancelCause(context.Background())
			all.bySum[sum(t.Secret)] = one
		}
	}
	return all, nil
}

// find returns the token of a secret, or nil.
func (t *tokens) find(secret string) *token {
	if t == nil {
		return nil
	}
	return t.bySum[sum(secret)]
}

// A Change is what became of the static tokens.
type Change struct {
	Added, Revoked int
	// Subjects are those whose token was revoked, see [Subject], and whether they have
	// another.
	Subjects map[string]bool
}

// SetTokens puts other static tokens in the place of those that were there. What a token
// began that is not among them ends, see [Life]. If list has a mistake nothing changes. It
// is for guards that have static tokens, and is not to be called concurrently.
func (g *Guard) SetTokens(list []Token) (c Change, err error) {
	all, err := newTokens(list)
	if err != nil {
		return c, err
	}
	before := g.tokens.Load()
	for sum, t := range before.bySum {
		if now := all.bySum[sum]; now != nil && now.agent == t.agent {
			all.bySum[sum] = t // it lives on
		}
	}
	g.tokens.Store(all)
	left := map[string]bool{} // agents that have a token
	for sum, t := range all.bySum {
		if before.bySum[sum] != t {
			c.Added++
		}
		left[t.agent] = true
	}
	c.Subjects = map[string]bool{}
	for sum, t := range before.bySum {
		if all.bySum[sum] != t {
			c.Revoked++
			c.Subjects["token:"+t.agent] = left[t.agent]
			t.end(ErrRevoked)
		}
	}
	return c, nil
}

func checkToken(t Token) error {
	switch {
	case !isAgent(t.Agent):
		return errors.New("the agent's name must have 1 to 64 characters: letters, digits and -_.@")
	case len(t.Secret) < minSecretBytes:
		return fmt.Errorf("the token has fewer than %d characters; openssl rand -hex 32 makes one", minSecretBytes)
	case len(t.Secret) > maxTokenBytes:
		return fmt.Errorf("the token has more than %d characters", maxTokenBytes)
	case !isToken(t.Secret):
		return errors.New("the token may have only letters, digits and -._~+/, and = at its end")
	}
	return nil
}

// isAgent reports whether s names an agent.
var isAgent = regexp.MustCompile(`^[A-Za-z0-9_.@-]{1,64}$`).MatchString
