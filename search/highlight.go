package search

// Highlight returns where passage has the words that query asks for: what to
// show of a passage that [Index.Search] found. The spans are in order, do not
// overlap, and are at most limit; zero means 5.
//
// A span is a word, identifier, path or date; or one or more of its pieces if
// only these are asked for; or a run of characters of a script without blanks.
// Words are
// those that Search counts, stop words left out as there, so that each passage
// found has a span, and each span, given to [Tokenize], a token of the query.
//
// It reads passage up to the last span, at about 10 MB/s, and keeps nothing.
func Highlight(text []byte, passage Span, query string, limit int) []Span {
	if limit <= 0 {
		limit = defaultHighlights
	}
	asked := make(map[string]bool)
	for _, t := range queryTokens(query) {
		asked[t] = true
	}
	if len(asked) == 0 {
		return nil
	}
	passage = passage.clamp(len(text))
	h := highlighter{text: text[:passage.End], asked: asked, limit: limit}
	for pos := passage.Start; len(h.spans) < limit; {
		start, end := nextChunk(h.text, pos)
		if start == end {
			break
		}
		h.chunk(Span{start, end})
		pos = end
	}
	return h.spans
}

const defaultHighlights = 5

type highlighter struct {
	text  []byte // up to the end of the passage
	asked map[string]bool
	limit int
	spans []Span
}

// chunk adds what of a chunk is asked for: the whole of it, or pieces.
func (h *highlighter) chunk(c Span) {
	chunk := h.text[c.Start:c.End]
	r, _ := decode(chunk, 0)
	unspaced := isUnspaced(r)
	if !unspaced && len(chunk) <= maxTokenBytes && h.asked[token(chunk)] {
		h.spans = append(h.spans, c)
		return
	}
	adjoins := false // the piece before was added
	for pos := 0; ; {
		start, end := nextPiece(chunk, pos)
		if start == end {
			return
		}
		pos = end
		piece := Span{c.Start + start, c.Start + end}
		switch {
		case !h.asked[token(chunk[start:end])]:
			adjoins = false
		case adjoins && h.spans[len(h.spans)-1].End == piece.Start:
			h.spans[len(h.spans)-1].End = piece.End
		case len(h.spans) == h.limit:
			return
		default:
			h.spans = append(h.spans, piece)
			adjoins = true
		}
	}
}
