package search

import "unicode/utf8"

// nextPiece returns the first piece of a chunk at or after pos, between two word
// breaks. It returns an empty range at the end.
func nextPiece(chunk []byte, pos int) (start, end int) {
	for pos < len(chunk) {
		r, size := decode(chunk, pos)
		if isWord(r) {
			break
		}
		pos += size
	}
	start, end = pos, pos
	for end < len(chunk) && (end == start || !pieceBreak(chunk, end)) {
		_, size := decode(chunk, end)
		end += size
	}
	return start, end
}

// pieceBreak is wordBreak with a shorter way for ASCII.
func pieceBreak(chunk []byte, pos int) bool {
	before, after, next := chunk[pos-1], chunk[pos], byte(0)
	if pos+1 < len(chunk) {
		next = chunk[pos+1]
	}
	if before|after|next >= utf8.RuneSelf {
		return wordBreak(chunk, pos)
	}
	switch a, b := asciiKinds[before], asciiKinds[after]; {
	case a == asciiOther || b == asciiOther || (a == asciiDigit) != (b == asciiDigit):
		return true
	case b != asciiUpper:
		return false
	case a != asciiUpper:
		return true
	}
	return asciiKinds[next] == asciiLower
}

const (
	asciiOther = iota
	asciiLower
	asciiUpper
	asciiDigit
)

var asciiKinds = func() (kinds [utf8.RuneSelf]uint8) {
	for b := range kinds {
		switch r := rune(b); {
		case 'a' <= r && r <= 'z':
			kinds[b] = asciiLower
		case 'A' <= r && r <= 'Z':
			kinds[b] = asciiUpper
		case '0' <= r && r <= '9':
			kinds[b] = asciiDigit
		}
	}
	return kinds
}()
