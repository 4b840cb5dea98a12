package digest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"unicode/utf8"

	"rlmproxy/pipeline/show"
)

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
func digestBlob(d *Digest, data []byte, _ *ticker) error {
	d.Brief = true
	if d.Kind == "binary" {
		if legible(data) {
			d.Brief = false
			d.Facts = append(d.Facts, "most of its lines are text")
			return nil
		}
		if what := magic(data); what != "" {
			d.Facts = append(d.Facts, what)
		}
		return nil
	}
	text := afterComma(data)
	if len(text) < len(data) {
		d.factf("data URI %s", show.Clip(string(data[5:len(data)-len(text)-8]), 60))
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
			d.say("decoded, it begins with %s", show.Quote(show.Clip(string(s), 200)))
		}
	}
	d.factf("decodes to %s bytes: %s", show.Count(size*3/4), what)
	return nil
}

// legible reports that most of the first lines are text, as where files were
// read together and one of them is an image.
func legible(data []byte) bool {
	full, text := 0, 0
	for line := range bytes.Lines(data[:min(len(data), sniffBytes)]) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		full++
		if utf8.Valid(line) && !bytes.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == utf8.RuneError }) {
			text++
		}
	}
	return text >= 10 && 3*text >= 2*full
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
