package find

import (
	"context"
	"strings"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
	"rlmproxy/search"
)

// A Hit is a place that a search found, for a program.
type Hit struct {
	Path  string  `json:"path,omitempty"`  // in JSON: where it is, in jq
	Line  int     `json:"line,omitempty"`  // in text: the number of its line, from 1
	Text  string  `json:"text"`            // its line, of which JSON has one for each value; with bm25 the whole unit
	Score float64 `json:"score,omitempty"` // fuzzy and bm25
}

// Hits are the places that s finds in a document, those that Apply would print. Modes paths and
// context find those of regex.
func (s *Search) Hits(ctx context.Context, in doc.Value) ([]Hit, error) {
	q := *s
	if err := q.defaults(); err != nil {
		return nil, err
	}
	var (
		hits []Hit
		err  error
	)
	if q.Mode == "bm25" {
		hits, err = q.rankedHits(ctx, in)
	} else {
		hits, err = q.foundHits(ctx, in)
	}
	if err != nil {
		return nil, q.explain(err)
	}
	return hits, nil
}

func (s *Search) foundHits(ctx context.Context, in doc.Value) ([]Hit, error) {
	w, err := viewOf(ctx, in)
	if err != nil {
		return nil, err
	}
	var m search.Matches
	if limit := s.Offset + s.MaxResults; s.Mode == "fuzzy" {
		m.Hits, m.Total, err = search.Fuzzy(ctx, w.text, s.Pattern, search.FuzzyOptions{Threshold: s.Threshold, Limit: limit})
	} else {
		m, err = search.Regex(ctx, w.text, s.Pattern, search.RegexOptions{CaseInsensitive: s.CaseInsensitive, Limit: limit})
	}
	if err != nil {
		return nil, err
	}
	found := m.Hits[min(s.Offset, len(m.Hits)):]
	hits := make([]Hit, len(found))
	for i, f := range found {
		line := w.lines.Span(f.Line)
		hits[i] = Hit{Text: printable(w.text[line.Start:line.End]), Score: f.Score}
		if w.isJSON {
			hits[i].Text = strings.TrimSuffix(strings.TrimSpace(hits[i].Text), ",")
		} else {
			hits[i].Line = f.Line
		}
	}
	if w.isJSON {
		visitPlaces(w.text, found, w.many, func(i int, at place) bool {
			hits[i].Path = at.path.JQ()
			return true
		})
	}
	return hits, nil
}

func (s *Search) rankedHits(ctx context.Context, in doc.Value) ([]Hit, error) {
	r, err := doc.Memoised(in, "search-index", func() (*ranking, int64, error) { return newRanking(ctx, in) })
	if err != nil {
		return nil, err
	}
	ranked, _ := r.index.Rank(s.Pattern, s.Offset+s.MaxResults)
	ranked = ranked[min(s.Offset, len(ranked)):]
	units := make([]unit, len(ranked))
	for i, h := range ranked {
		units[i] = r.units.list[h.Passage]
	}
	paths := r.units.paths(units)
	hits := make([]Hit, len(ranked))
	for i, u := range units {
		hits[i] = Hit{Text: printable(r.units.text[u.start:u.end]), Score: ranked[i].Score}
		if paths[i] != nil {
			hits[i].Path = paths[i].JQ()
		} else if r.units.lines != nil {
			hits[i].Line = r.units.lines.Line(int(u.start))
		}
	}
	return hits, nil
}

// maxHitBytes bounds the text of a hit: a line may be the whole document.
const maxHitBytes = 4 << 10

func printable(text []byte) string {
	return show.ClipBytes(strings.ToValidUTF8(string(text), "\uFFFD"), maxHitBytes)
}
