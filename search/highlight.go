package search

const defaultHighlights = 5

// Highlight returns where passage has the words that query asks for: what to
// show of a passage that [Index.Search] found. The spans are in order, do not
// overlap, and are at most limit; zero means 5.
//
// A span is a word, identifier, path or date; or one or more of its parts if
// only these are asked for; or a run of characters of a script without blanks.
// Words are those that Search counts, stop words left out as there, so that each
// passage found has a span, and each span a word of the query.
//
// It reads passage up to the last span, at about 5 MB/s, and keeps nothing.
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
	text = text[:passage.End]
	var spans []Span
	for c := (compound{Span: Span{End: passage.Start}}); len(spans) < limit && c.next(text, c.End); {
		if !c.unspaced && c.Len() <= maxTokenBytes && asked[token(text[c.Start:c.End])] {
			spans = append(spans, c.Span)
			continue
		}
		adjoins := false // the part before was added
		for _, part := range c.parts {
			switch {
			case !asked[token(text[part.Start:part.End])]:
				adjoins = false
			case adjoins && spans[len(spans)-1].End == part.Start:
				spans[len(spans)-1].End = part.End
			case len(spans) == limit:
				return spans
			default:
				spans = append(spans, part)
				adjoins = true
			}
		}
	}
	return spans
}
