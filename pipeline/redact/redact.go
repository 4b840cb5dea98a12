// Package redact masks secrets in texts: keys, tokens, private keys.
//
//	a result ──► without escapes ──► keywords ──► rules there ──► [redacted: github-pat]
//
// The rules are those of gitleaks, as it publishes them: gitleaks.toml, under the MIT
// licence in gitleaks.LICENSE. RulesVersion says which; "go generate" brings another.
// gitleaks itself is not used: it searches 2 MB a second, in files, and reports where
// we have to mask in JSON, in strings of JSON, and JSON in those.
//
// What is masked depends on the text alone. A mask has no character that JSON escapes.
// All else of a text keeps its bytes.
package redact

//go:generate go run gen.go

import (
	"bytes"
	"context"
	"encoding/base64"
	"regexp"
	"unicode/utf8"

	"rlmproxy/jsonscan"
)

// Found counts secrets by the rule that found them.
type Found map[string]int

// Total is how many there are.
func (f Found) Total() (n int) {
	for _, count := range f {
		n += count
	}
	return n
}

// Text returns text with its secrets masked, and how many they are; text itself if there
// are none. What is JSON stays JSON.
func Text(text []byte) ([]byte, int) {
	out, found, err := Mask(context.Background(), text)
	if err != nil { // nobody waits no longer
		return nil, 0
	}
	return out, found.Total()
}

// passes is how often a text is searched at most: a mask can uncover a secret that
// another one stood beside.
const passes = 8

// Mask is Text until ctx ends, and tells the rules.
func Mask(ctx context.Context, text []byte) ([]byte, Found, error) {
	found := Found{}
	isJSON, known := false, false
	for range passes {
		spans, err := rules().find(ctx, flatten(text))
		if err != nil {
			return nil, nil, err
		}
		if len(spans) > 0 && !known {
			isJSON, known = jsonscan.Valid(text, jsonscan.MaxDepth), true
		}
		masked, n := mask(text, spans, isJSON, found)
		if n == 0 {
			break
		}
		text = masked
	}
	return text, found, nil
}

// JSON is Mask for a result or for other params of the protocol. A blob that is text is
// masked within its base64. Other base64, such as an image, is left alone, and so are
// handles: what a client only sends back.
func JSON(ctx context.Context, value []byte) ([]byte, Found, error) {
	text, inBlobs, err := maskBlobs(ctx, value)
	if err != nil {
		return nil, nil, err
	}
	text, found, err := Mask(ctx, text)
	if err != nil {
		return nil, nil, err
	}
	for rule, n := range inBlobs {
		found[rule] += n
	}
	return text, found, nil
}

// maskBlobs is JSON for blobs, as the contents of resources have them.
func maskBlobs(ctx context.Context, value []byte) (text []byte, found Found, err error) {
	found = Found{}
	done := 0 // of value, up to there, text has what it stands for
	key := []byte(`"blob"`)
	for at := bytes.Index(value, key); at >= 0; {
		at += len(key)
		quoted := base64String.FindSubmatchIndex(value[at:])
		if quoted != nil {
			from, to := at+quoted[2], at+quoted[3]
			masked, inside, err := maskBlob(ctx, value[from:to])
			if err != nil {
				return nil, nil, err
			}
			for rule, n := range inside {
				found[rule] += n
			}
			if len(inside) > 0 {
				text = append(append(text, value[done:from]...), masked...)
				done = to
			}
			at = to
		}
		next := bytes.Index(value[at:], key)
		if next < 0 {
			break
		}
		at += next
	}
	if done == 0 {
		return value, found, nil
	}
	return append(text, value[done:]...), found, nil
}

// base64String is a string in base64 behind its key.
var base64String = regexp.MustCompile(`^\s*:\s*("[A-Za-z0-9+/\\]{16,}={0,2}")`)

// maskBlob masks in the text that a string has in base64, if it is text.
func maskBlob(ctx context.Context, quoted []byte) ([]byte, Found, error) {
	blob, err := base64.StdEncoding.DecodeString(jsonscan.Unquote(quoted))
	if err != nil || !utf8.Valid(blob) {
		return quoted, nil, nil
	}
	masked, found, err := Mask(ctx, blob)
	return jsonscan.AppendQuote(nil, base64.StdEncoding.EncodeToString(masked)), found, err
}
