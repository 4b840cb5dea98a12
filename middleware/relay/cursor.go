package relay

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"

	"rlmproxy/fleet"
	"rlmproxy/jsonscan"
	"rlmproxy/middleware/session"
)

// cursors seals those of lists that have others' tasks: servers may write the ID of a task
// into one. A sealed cursor is good for its party alone, while the proxy runs. It names the
// replica, whose list goes on with it.
type cursors struct {
	keys    func() [][]byte // the first seals, each opens
	replica string          // "" where there is one
}

func newCursors(shared *fleet.Store) cursors {
	if shared != nil {
		return cursors{func() [][]byte { return shared.Keys("cursors") }, shared.Replica()}
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it does not fail
	return cursors{keys: func() [][]byte { return [][]byte{key} }}
}

func newAEAD(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // the key has the right length
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return aead
}

// seal returns the same for the same.
func (c cursors) seal(cursor, server, party string) string {
	key := c.keys()[0]
	aead, cursor := newAEAD(key), c.replica+"\x00"+cursor
	mac := hmac.New(sha256.New, key)
	for _, part := range []string{server, party, cursor} {
		mac.Write([]byte(part))
		mac.Write([]byte{0})
	}
	nonce := mac.Sum(nil)[:aead.NonceSize()]
	return base64.RawURLEncoding.EncodeToString(aead.Seal(nonce, nonce, []byte(cursor), []byte(server+"\x00"+party)))
}

// ErrCursor is the error for a cursor that is not the party's, or is good no more.
var ErrCursor = session.InvalidParams("unknown cursor: begin the list without one")

// open returns params with the server's own cursor in place of a sealed one.
func (c cursors) open(params json.RawMessage, server, party string) (json.RawMessage, error) {
	var bad error
	out := params
	if len(params) > 0 && params[0] == '{' {
		var err error
		out, err = jsonscan.Rewrite(params, func(key string, value json.RawMessage) json.RawMessage {
			if key != "cursor" || value[0] == 'n' || string(value) == `""` {
				return value
			}
			replica, own, ok := c.unseal(value, server, party)
			if !ok || replica != c.replica {
				bad = ErrCursor
			}
			return jsonscan.Quote(own)
		})
		if err != nil {
			return nil, err
		}
	}
	return out, bad
}

func (c cursors) unseal(value json.RawMessage, server, party string) (replica, own string, ok bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", "", false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(jsonscan.Unquote(value))
	if err != nil {
		return "", "", false
	}
	for _, key := range c.keys() {
		aead := newAEAD(key)
		n := aead.NonceSize()
		if len(sealed) < n {
			break
		}
		if plain, err := aead.Open(nil, sealed[:n], sealed[n:], []byte(server+"\x00"+party)); err == nil {
			return strings.Cut(string(plain), "\x00")
		}
	}
	return "", "", false
}
