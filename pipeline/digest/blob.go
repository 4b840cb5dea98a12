package digest

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"unicode/utf8"

	"rlmproxy/pipeline/show"
)

// isBinary wants a NUL. Where most lines are text all the same, files were read
// together and one of them is an image.
func isBinary(s *sample) bool {
	legible := s.count(func(line []byte) bool {
		return notBlank(line) && utf8.Valid(line) && !bytes.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' })
	})
	return bytes.IndexByte(head(s.data, sampleBytes), 0) >= 0 && (legible < 10 || !s.most(legible, 80))
}

var base64Start = lazy(`^(data:[\w/+.;=-]{1,100};base64,)?[A-Za-z0-9+/_-]{60}`)

// isBase64 wants nothing but base64, with capitals, small letters and digits on
// the first line: a long word has not all of them.
func isBase64(s *sample) bool {
	start := base64Start().Find(head(s.data, 200))
	if start == nil || bytes.ContainsFunc(base64Of(s.data), func(r rune) bool { return !isOneOf(byte(min(r, 0x7f)), base64Bytes) }) {
		return false
	}
	var upper, lower, digits int
	for _, c := range head(s.data, 4000) {
		upper += btoi(isUpper(c))
		lower += btoi(c >= 'a' && c <= 'z')
		digits += btoi(isDigit(c))
	}
	n := upper + lower + digits
	return hasPrefix(start, "data:") || 10*upper > n && 10*lower > n && 20*digits > n
}

const base64Bytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\r\n"

// base64Of is what stands behind data:image/png;base64,.
func base64Of(text []byte) []byte {
	if _, behind, ok := bytes.Cut(head(text, 200), []byte(";base64,")); ok {
		return text[min(len(text), 200)-len(behind):]
	}
	return text
}

// readBlob says what the bytes are, which nobody can read.
func readBlob(d *Digest, r *reader) {
	d.Opaque = true
	if d.Kind == "binary" {
		d.Facts = append(d.Facts, http.DetectContentType(r.data))
		return
	}
	text := base64Of(r.data)
	decoded := make([]byte, 4096)
	n, _ := base64.StdEncoding.Decode(decoded, head(text, 4096))
	d.factf("decodes to %s bytes: %s", show.Count(len(text)*3/4), http.DetectContentType(decoded[:n]))
}
