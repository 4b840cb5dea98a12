package audit

import (
	"encoding/json"
	"regexp"

	"rlmproxy/jsonscan"
)

// secretName matches the names of fields whose values are masked.
var secretName = regexp.MustCompile(`(?i)pass(word|wd|phrase|code)?$|pwd$|secret|token$|(api|private|access|auth|encryption|signing).?key|auth$|authorization|credential|cookie|session.?id|bearer|^(pin|otp|cvv)$`)

var masked = json.RawMessage(`"(masked)"`)

// Mask masks the values of fields whose names look like those of secrets, at any depth,
// and in JSON that stands in strings. A secret in a text of another kind it does not
// find.
func Mask(raw json.RawMessage) json.RawMessage { return maskValue(raw, 0) }

// maxNested is how deep JSON in strings is entered.
const maxNested = 4

func maskValue(raw json.RawMessage, nested int) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	switch raw[0] {
	case '{':
		out, err := jsonscan.Rewrite(raw, func(key string, value json.RawMessage) json.RawMessage {
			if secretName.MatchString(key) && string(value) != "null" {
				return masked
			}
			return maskValue(value, nested)
		})
		if err != nil {
			return masked
		}
		return out
	case '[':
		out := []byte{'['}
		err := jsonscan.Elements(raw, func(value json.RawMessage) error {
			out = jsonscan.AppendElement(out, maskValue(value, nested))
			return nil
		})
		if err != nil {
			return masked
		}
		return append(out, ']')
	case '"':
		text := jsonscan.AppendUnquoted(nil, raw)
		if at := jsonscan.SkipSpace(text, 0); at == len(text) || text[at] != '{' && text[at] != '[' || !json.Valid(text) {
			return raw
		}
		if nested == maxNested {
			return masked
		}
		text = text[jsonscan.SkipSpace(text, 0):]
		return jsonscan.Quote(string(maskValue(text, nested+1)))
	}
	return raw
}
