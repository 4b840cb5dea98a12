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

var base64Text = lazy(`^(data:[\w/+.;=-]{0,100};base64,)?[A-Za-z0-9+/_-]{40,}(\r?\n[A-Za-z0-9+/_-]{40,})*(\r?\n[A-Za-z0-9+/_-]+)?={0,2}\s*$`)

// isBase64 wants nothing but base64, with capitals, small letters and digits: a
// long word has not all of them.
func isBase64(s *sample) bool {
	first := head(s.data, 4096)
	if len(first) < 80 || bytes.IndexByte(first, ' ') >= 0 || !base64Text().Match(first) {
		return false
	}
	var upper, lower, digits int
	for _, c := range s.data {
		switch {
		case isUpper(c):
			upper++
		case isLetter(c):
			lower++
		case isDigit(c):
			digits++
		case isOneOf(c, " <\"\t"):
			return false
		}
	}
	n := upper + lower + digits
	return hasPrefix(first, "data:") || 10*upper > n && 10*lower > n && 20*digits > n
}

// readBlob says what the bytes are, which nobody can read.
func readBlob(d *Digest, r *reader) {
	d.Brief = true
	if d.Kind == "binary" {
		d.Facts = append(d.Facts, http.DetectContentType(r.data))
		return
	}
	text := r.data
	if i := bytes.Index(head(text, 200), []byte(";base64,")); i > 0 {
		d.factf("data URI %s", show.Clip(string(text[len("data:"):i]), 60))
		text = text[i+len(";base64,"):]
	}
	size := len(text) - bytes.Count(text, []byte("\n")) - bytes.Count(text, []byte("\r")) - bytes.Count(text, []byte("="))
	decoded := make([]byte, 4096)
	n, _ := base64.RawStdEncoding.Decode(decoded, plainAlphabet(head(text, 4096)))
	decoded = decoded[:n]
	what := http.DetectContentType(decoded)
	d.factf("decodes to %s bytes: %s", show.Count(size*3/4), what)
	if hasPrefix([]byte(what), "text/") {
		d.say("decoded, it begins with %s", show.Quote(show.Clip(show.Printable(decoded), 200)))
	}
}

// plainAlphabet replaces what base64 for URLs has, and drops all else.
func plainAlphabet(text []byte) []byte {
	out := bytes.Map(func(r rune) rune {
		switch {
		case r == '-':
			return '+'
		case r == '_':
			return '/'
		case r == '=' || r <= ' ':
			return -1
		}
		return r
	}, text)
	return out[:len(out)/4*4]
}
