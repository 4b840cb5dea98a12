package auth

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// maxTokens and maxFileBytes bound what is compared with on every request,
// and what is read at the start.
const (
	maxTokens    = 1000
	maxFileBytes = 1 << 20
)

// ReadTokens reads a file as [ParseTokens] does. The warning, if any, says
// that others on this machine can read it.
func ReadTokens(path string) (tokens []Token, warning string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, "", err
	}
	if len(data) > maxFileBytes {
		return nil, "", fmt.Errorf("%s: the file is larger than %d KiB", path, maxFileBytes>>10)
	}
	tokens, err = ParseTokens(path, string(data))
	if err != nil {
		return nil, "", err
	}
	if len(tokens) == 0 {
		return nil, "", fmt.Errorf("%s: there is no token; write one a line, as in alice: TOKEN", path)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, "", err
	}
	// Windows has no such bits; Go makes them up.
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		warning = fmt.Sprintf("%s: others can read the tokens (mode %04o); chmod 600 keeps them private", path, mode)
	}
	return tokens, warning, nil
}

// ParseTokens reads lines of "agent: token" or "agent=token". Blank lines and
// those that begin with # are passed over; a comma ends a line too, so that a
// variable can hold several.
//
// Errors begin with source and the line. They show nothing of the line: what
// stands where the agent should may be the secret.
func ParseTokens(source, text string) ([]Token, error) {
	var (
		tokens []Token
		agents = map[string]int{} // the line of each
		sums   = map[secretSum]int{}
		n      = 0
	)
	text = strings.TrimPrefix(text, "\ufeff")
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, maxFileBytes+1)
	for lines.Scan() {
		n++
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "#") {
			continue
		}
		for entry := range strings.SplitSeq(line, ",") {
			if entry = strings.TrimSpace(entry); entry == "" {
				continue
			}
			t, err := parseToken(entry)
			switch {
			case err != nil:
			case agents[t.Agent] > 0:
				err = fmt.Errorf("the agent has a token on line %d already", agents[t.Agent])
			case sums[sum(t.Secret)] > 0:
				err = fmt.Errorf("the token is that of line %d", sums[sum(t.Secret)])
			case len(tokens) == maxTokens:
				err = fmt.Errorf("more than %d tokens", maxTokens)
			}
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", source, n, err)
			}
			agents[t.Agent], sums[sum(t.Secret)] = n, n
			tokens = append(tokens, t)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", source, n+1, err)
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
