package pipeline

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// digestPlain counts paragraphs and lists lines that look like headings.
func digestPlain(d *digest, data []byte, t *ticker) error {
	p := part{title: "lines like headings", share: 50, even: true}
	var line0 numLine // the line before
	aboveBlank := true
	n, paragraphs := 0, 0
	lastBlank := true
	offer := func(c numLine, underlined, blankBefore, blankAfter bool) {
		if c.line == nil || !blankBefore && !underlined || !blankAfter && !underlined {
			return
		}
		if headingLike(bytes.TrimSpace(c.line), underlined) {
			p.addLine(c.n, c.line, 0)
		}
	}
	for line := range bytes.Lines(data) {
		if err := t.err(); err != nil {
			return err
		}
		if len(line) == 1 && line[0] == '\n' && lastBlank {
			aboveBlank = true
			n++
			continue
		}
		s := bytes.TrimSpace(line[:min(len(line), 300)])
		blank := len(s) == 0
		if !blank && lastBlank {
			paragraphs++
		}
		underline := len(s) > 2 && (s[0] == '=' || s[0] == '-' || s[0] == '~') && len(bytes.Trim(s, string(s[:1]))) == 0
		if !lastBlank {
			offer(line0, underline, aboveBlank, blank)
		}
		aboveBlank = lastBlank
		line0, lastBlank = numLine{n, line}, blank
		n++
	}
	d.facts = append(d.facts, plural(paragraphs, "paragraphs"))
	// If every other line is one, none is.
	if 3*p.total < n && 2*p.total <= paragraphs+1 {
		d.parts = append(d.parts, p)
	}
	if len(p.rows) > 0 && len(d.parts) > 0 {
		at := p.rows[len(p.rows)/2].n
		d.calls = append(d.calls, []string{"proxy_filter", "offset", strconv.Itoa(at), "limit", "30"})
	}
	return nil
}

// headingLike: short, begins with a capital or a number, does not end as a
// sentence does.
func headingLike(s []byte, underlined bool) bool {
	if len(s) < 3 || len(s) > 80 || bytes.IndexByte([]byte(".,;!?"), s[len(s)-1]) >= 0 {
		return false
	}
	r, _ := utf8.DecodeRune(s)
	letters := 0
	for _, c := range s {
		if isAlpha(c) || c >= 0x80 {
			letters++
		}
	}
	return 2*letters > len(s) && (underlined || unicode.IsUpper(r) || unicode.IsDigit(r) || r >= 0x2e80)
}

// isBase64 reports that all of data is one run of base64, in lines perhaps.
// A long word has no digits, or only small letters.
func isBase64(data []byte) bool {
	text := afterComma(data)
	uri := len(text) < len(data)
	data = bytes.TrimSpace(text)
	if len(data) < 80 {
		return false
	}
	var upper, lower, digit, lines int
	width, at := 0, 0
	for i, c := range data {
		switch {
		case c >= 'A' && c <= 'Z':
			upper++
		case c >= 'a' && c <= 'z':
			lower++
		case isDigit(c):
			digit++
		case c == '+' || c == '/' || c == '-' || c == '_':
		case c == '=' && i >= len(data)-2:
		case c == '\n':
			// Lines are equally long.
			w := i - at
			if at = i + 1; lines > 0 && w != width || w < 40 {
				return false
			}
			width = w
			lines++
		case c == '\r' && i+1 < len(data) && data[i+1] == '\n':
		default:
			return false
		}
	}
	n := upper + lower + digit
	return n > 0 && (uri || 10*upper > n && 10*lower > n && 20*digit > n)
}

// afterComma is what stands behind data:image/png;base64,.
func afterComma(data []byte) []byte {
	if head := data[:min(len(data), 200)]; hasPrefix(head, "data:") {
		if i := bytes.Index(head, []byte(";base64,")); i > 0 {
			return data[i+8:]
		}
	}
	return data
}

// digestBlob says what the bytes are, which nobody can read.
func digestBlob(d *digest, data []byte, _ *ticker) error {
	d.brief = true
	if d.kind == "binary" {
		if what := magic(data); what != "" {
			d.facts = append(d.facts, what)
		}
		return nil
	}
	text := afterComma(data)
	if len(text) < len(data) {
		d.factf("data URI %s", clip(string(data[5:len(data)-len(text)-8]), 60))
	}
	head := make([]byte, 0, 4096)
	size := 0
	for _, c := range text {
		if c != '\n' && c != '\r' && c != ' ' && c != '=' {
			if size++; len(head) < cap(head) {
				switch c {
				case '-':
					c = '+'
				case '_':
					c = '/'
				}
				head = append(head, c)
			}
		}
	}
	decoded := make([]byte, 3*len(head)/4)
	n, err := base64.RawStdEncoding.Decode(decoded, head[:len(head)/4*4])
	if err != nil {
		return nil
	}
	decoded = decoded[:n]
	what := magic(decoded)
	if what == "" {
		what = "bytes of no known format"
		if s := decoded[:len(decoded)-min(len(decoded), 3)]; utf8.Valid(s) || utf8.Valid(decoded) {
			what = "UTF-8 text"
			d.say("decoded, it begins with %s", quotePreview(string(s), 200))
		}
	}
	d.factf("decodes to %s bytes: %s", Comma(size*3/4), what)
	return nil
}

// magics are the first bytes of common formats.
var magics = []struct{ head, name string }{
	{"\x89PNG\r\n\x1a\n", "PNG image"}, {"\xff\xd8\xff", "JPEG image"}, {"GIF8", "GIF image"}, {"%PDF-", "PDF"}, {"PK\x03\x04", "ZIP archive, as are docx, xlsx, jar"},
	{"\x1f\x8b", "gzip"}, {"BZh", "bzip2"}, {"\xfd7zXZ", "xz"}, {"\x28\xb5\x2f\xfd", "zstd"}, {"7z\xbc\xaf", "7-Zip archive"}, {"RIFF", "RIFF: WebP, WAV or AVI"},
	{"BM", "BMP image"}, {"II*\x00", "TIFF image"}, {"MM\x00*", "TIFF image"}, {"ID3", "MP3 audio"}, {"OggS", "Ogg audio"}, {"fLaC", "FLAC audio"}, {"\x7fELF", "ELF program"}, {"MZ", "Windows program"},
	{"\xca\xfe\xba\xbe", "Java class or Mach-O"}, {"SQLite format 3", "SQLite database"}, {"wOF2", "WOFF2 font"}, {"wOFF", "WOFF font"}, {"\x00\x01\x00\x00", "TrueType font"}, {"\x00asm", "WebAssembly"},
	{"\xff\xfe", "UTF-16 text"}, {"\xfe\xff", "UTF-16 text"}, {"\x30\x82", "DER: a certificate or key"},
}

func magic(data []byte) string {
	for _, m := range magics {
		if hasPrefix(data, m.head) {
			if m.head == "\x89PNG\r\n\x1a\n" && len(data) >= 24 {
				return fmt.Sprintf("%s, %d × %d", m.name, be32(data[16:]), be32(data[20:]))
			}
			return m.name
		}
	}
	if len(data) > 12 && hasPrefix(data[4:], "ftyp") {
		return "MP4, MOV, HEIC or AVIF"
	}
	return ""
}

func be32(b []byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// guessBroken wants what begins as JSON and is none, or Recognise had it.
func guessBroken(s *sniffed) string {
	t := bytes.TrimLeft(s.data[:min(len(s.data), 1000)], " \t\r\n\ufeff")
	if len(t) < 2 || t[0] != '{' && t[0] != '[' {
		return ""
	}
	next := bytes.TrimLeft(t[1:], " \t\r\n")
	if len(next) == 0 || !(next[0] == '"' || t[0] == '[' && (next[0] == '{' || next[0] == '[') || t[0] == '{' && next[0] == '}') {
		return ""
	}
	if t[0] == '[' && next[0] == '[' && (len(next) < 2 || isAlpha(next[1])) { // [[section]]
		return ""
	}
	if t[0] == '{' && next[0] == '"' {
		end := skipString(next, 0)
		if rest := bytes.TrimLeft(next[min(end, len(next)):], " \t\r\n"); len(rest) == 0 || rest[0] != ':' {
			return ""
		}
	}
	return "broken JSON"
}

// guessMixed wants JSON on half of the lines. With JSON on all, Recognise had it.
func guessMixed(s *sniffed) string {
	n := s.count(func(line []byte) bool {
		return len(line) > 1 && line[0] == '{' && (len(line) == maxSniffLine || isContainer(line))
	})
	if n > 1 && s.most(n, 50) {
		return "JSON Lines and text"
	}
	return ""
}

// digestMixed finds the lines that are not JSON.
func digestMixed(d *digest, data []byte, t *ticker) error {
	n, good := 0, 0
	odd := part{title: "lines that are not JSON", even: true}
	for line := range bytes.Lines(data) {
		if err := t.err(); err != nil {
			return err
		}
		if s := bytes.TrimSpace(line); len(s) > 0 {
			if s[0] == '{' && isContainer(s) {
				good++
			} else {
				odd.addLine(n, line, 0)
			}
		}
		n++
	}
	d.factf("%s of them JSON", Comma(good))
	d.parts = append(d.parts, odd)
	if len(odd.rows) > 0 {
		d.calls = append(d.calls, []string{"proxy_filter", "offset", strconv.Itoa(max(odd.rows[0].n-2, 0)), "limit", "5"})
	}
	return nil
}

// digestBroken says where JSON ends to be JSON.
func digestBroken(d *digest, data []byte, _ *ticker) error {
	var raw json.RawMessage
	err := json.Unmarshal(data, &raw)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset := min(int(syntax.Offset), len(data))
		at := bytes.Count(data[:max(offset-1, 0)], []byte("\n"))
		d.factf("%s at byte %s, line %s", syntax.Error(), Comma(offset), Comma(at+1))
		if at > 0 {
			d.picks = append(d.picks, lineAt(data, at, max(offset-1, 0)))
			d.calls = append(d.calls, []string{"proxy_filter", "offset", strconv.Itoa(max(at-5, 0)), "limit", "10"})
		}
	} else if err == nil {
		d.kind = "JSON nested deeper than 1,000 levels"
	}
	return nil
}

// lineAt is line n, which holds byte offset.
func lineAt(data []byte, n, offset int) numLine {
	offset = min(offset, len(data)-1)
	start := bytes.LastIndexByte(data[:offset], '\n') + 1
	end := bytes.IndexByte(data[start:], '\n')
	if end < 0 {
		end = len(data) - start
	}
	return numLine{n, data[start : start+end]}
}
