package auth

import (
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

// agentsBySecret checks tokens. Errors count from 1 and do not show a secret, nor
// an agent, where somebody may have written one.
func agentsBySecret(tokens []Token) (map[secretSum]string, error) {
	agents := map[secretSum]string{}
	numbers := map[string]int{} // of agents
	for i, t := range tokens {
		err := checkToken(t)
		switch {
		case err != nil:
		case numbers[t.Agent] > 0:
			err = fmt.Errorf("the agent of token %d again", numbers[t.Agent])
		case agents[sum(t.Secret)] != "":
			err = fmt.Errorf("the same token as %d, for another agent", numbers[agents[sum(t.Secret)]])
		}
		if err != nil {
			return nil, fmt.Errorf("token %d: %w", i+1, err)
		}
		numbers[t.Agent], agents[sum(t.Secret)] = i+1, t.Agent
	}
	return agents, nil
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

// isAgent reports whether s names an agent.
var isAgent = regexp.MustCompile(`^[A-Za-z0-9_.@-]{1,64}$`).MatchString
