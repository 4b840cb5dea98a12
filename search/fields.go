package search

import (
	"math"
	"slices"
)

// A Field is one of those that documents of a [FieldIndex] have.
type Field struct {
	// Weight is how much a word counts that stands there, as to one in a field of weight 1.
	Weight float64
	// B is how much a long field discounts its words: 0 not at all, 1 fully.
	B float64
}

// A FieldIndex ranks short documents that have the same few fields, such as a name and a
// description. It is safe for concurrent use, and refers to no text. For documents of some
// hundred words it takes about as many bytes as they do.
type FieldIndex struct {
	documents int
	postings  map[string][]posting
}

// A posting is a document that has a term, and how often: by the weights of the fields where
// it stands, and by their lengths.
type posting struct {
	document int32
	weight   float32
}

// NewFieldIndex reads documents, each of them the texts of fields in their order.
func NewFieldIndex(fields []Field, documents [][]string) *FieldIndex {
	ix := &FieldIndex{documents: len(documents), postings: map[string][]posting{}}
	tokens := make([][][]string, len(documents))
	averages := make([]float64, len(fields))
	for d, texts := range documents {
		tokens[d] = make([][]string, len(fields))
		for f := range fields {
			tokens[d][f] = Terms(texts[f])
			averages[f] += float64(len(tokens[d][f])) / float64(len(documents))
		}
	}
	for d := range documents {
		weights := map[string]float64{}
		for f, field := range fields {
			norm := 1 - field.B + field.B*float64(len(tokens[d][f]))/max(averages[f], 1)
			for _, t := range tokens[d][f] {
				weights[t] += field.Weight / norm
			}
		}
		for t, w := range weights {
			ix.postings[t] = append(ix.postings[t], posting{int32(d), float32(w)})
		}
	}
	return ix
}

// Terms returns what an index knows the words of text by: their stems in lower case, those
// of getUserName or get_user as parts and whole.
func Terms(text string) []string { return tokenize([]byte(text)) }

// QueryTerms is Terms without words that say nothing, such as "the", unless there are no
// others; sorted. Of a long query the first 4096 bytes count.
func QueryTerms(query string) []string { return queryTokens(query) }

// A Term is a word that documents are ranked by, in its forms: synonyms, or what a misspelt
// word may mean. Of these, the one that counts most in a document counts there.
type Term struct {
	Weight float64 // as to one of weight 1
	Forms  []Alternative
}

// An Alternative is a form of a term, as [Terms] returns it, and how well it stands for it:
// 1 is the word itself.
type Alternative struct {
	Text   string
	Weight float64
}

// Has reports whether a document has a term, of those for which may reports true.
func (ix *FieldIndex) Has(term string, may func(document int) bool) bool {
	return slices.ContainsFunc(ix.postings[term], func(p posting) bool { return may(int(p.document)) })
}

// Vocabulary calls f with each term that there is, in any order.
func (ix *FieldIndex) Vocabulary(f func(term string)) {
	for t := range ix.postings {
		f(t)
	}
}

// Rank returns at most topK documents that have one of the terms, best first; ties are in
// their order. Scores are BM25F's: Robertson, Zaragoza, Taylor, "Simple BM25 extension to
// multiple weighted fields", CIKM 2004, with k1 1.2 and Lucene's idf. Passage of a [Ranked] is
// the place of a document.
func (ix *FieldIndex) Rank(terms []Term, topK int) []Ranked {
	scores := make([]float64, ix.documents)
	heaviest := make([]float64, ix.documents) // of the term at hand
	for _, term := range terms {
		var touched []int32
		for _, a := range term.Forms {
			list := ix.postings[a.Text]
			idf := term.Weight * a.Weight * math.Log(1+(float64(ix.documents-len(list))+0.5)/(float64(len(list))+0.5))
			for _, p := range list {
				w := float64(p.weight)
				if s := idf * w / (w + bm25K1); s > heaviest[p.document] {
					if heaviest[p.document] == 0 {
						touched = append(touched, p.document)
					}
					heaviest[p.document] = s
				}
			}
		}
		for _, d := range touched {
			scores[d] += heaviest[d]
			heaviest[d] = 0
		}
	}
	found, _ := best(scores, topK)
	return found
}
