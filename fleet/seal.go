package fleet

import (
	"crypto/aes"
	"crypto/cipher"
)

// Sealer seals with a key of [Store.Keys] what the store is to keep and not to read: AES-GCM
// with a random nonce. Nonces are nil, and what is sealed is bound to its additional data.
func Sealer(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err == nil {
		var gcm cipher.AEAD
		if gcm, err = cipher.NewGCMWithRandomNonce(block); err == nil {
			return gcm
		}
	}
	panic(err) // the length of a key is a constant
}
