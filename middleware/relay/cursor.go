package relay

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/session"
)

// cursors seals those of lists that have others' tasks: servers may write the ID of a task
// into one. A sealed cursor is good for its party alone, while the proxy runs.
type cursors struct {
	key  []byte
	aead cipher.AEAD
}

func newCursors() cursors {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it does not fail
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // the key has the right length
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return cursors{key, aead}
}

// seal returns the same for the same.
func (c cursors) seal(cursor, server, party string) string {
	mac := hmac.New(sha256.New, c.key)
	for _, part := range []string{server, party, cursor} {
		mac.Write([]byte(part))
		mac.Write([]byte{0})
	}
	nonce := mac.Sum(nil)[:c.aead.NonceSize()]
	return base64.RawURLEncoding.EncodeToString(c.aead.Seal(nonce, nonce, []byte(cursor), []byte(server+"\x00"+party)))
}

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
			own, ok := c.unseal(value, server, party)
			if !ok {
				bad = session.InvalidParams("unknown cursor: begin the list without one")
			}
			return jsonscan.Quote(own)
		})
		if err != nil {
			return nil, err
		}
	}
	return out, bad
}

func (c cursors) unseal(value json.RawMessage, server, party string) (own string, ok bool) {
	if value[0] != '"' {
		return "", false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(jsonscan.Unquote(value))
	n := c.aead.NonceSize()
	if err != nil || len(sealed) < n {
		return "", false
	}
	plain, err := c.aead.Open(nil, sealed[:n], sealed[n:], []byte(server+"\x00"+party))
	return string(plain), err == nil
}
