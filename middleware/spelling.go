package middleware

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the longest name that model APIs accept: ^[a-zA-Z0-9_-]{1,64}$.
const maxName = 64

// keyOf names a tool, or prompt, of a server among those of all.
func keyOf(up *Upstream, tool string) string { return up.Name + "\x00" + tool }

// bareName is what a tool is called if nothing speaks against it.
func bareName(prefix, tool string) string {
	if prefix == "" {
		return clean(tool)
	}
	return clean(prefix) + "_" + clean(tool)
}

// clean replaces what model APIs refuse in names.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
}

// hashed is short and the same in every run.
func hashed(key string) string { return hash(key, 8) }

func hash(key string, digits int) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])[:digits]
}
