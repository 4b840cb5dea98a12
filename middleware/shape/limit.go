package shape

import (
	"unicode/utf8"

	"rlmproxy/pipeline"
	"rlmproxy/pipeline/tokens"
)

// A limit is how much of one answer an agent reads.
type limit struct {
	tokens int
	chars  int // if not zero it is the limit, and tokens a bound for previews
}

func (s *Shaper) limit(p Policy) limit {
	switch {
	case p.MaxTokens > 0:
		return limit{tokens: p.MaxTokens}
	case s.opts.MaxChars > 0:
		// Dense text has about two characters to a token; fits decides.
		return limit{tokens: max(s.opts.MaxChars/2, 1), chars: s.opts.MaxChars}
	}
	return limit{tokens: s.opts.MaxTokens}
}

// limitOf is the limit for docs: that of their kind, unless p has one of its own.
func (s *Shaper) limitOf(p Policy, docs *Documents) limit {
	lim := s.limit(p)
	only, ok := docs.only()
	if !ok || p.MaxTokens > 0 || len(s.opts.KindTokens) == 0 || len(only.Text) <= s.least(lim) {
		return lim
	}
	if n := s.opts.KindTokens[pipeline.Class(pipeline.Recognise(only.Text, nil))]; n > 0 {
		return limit{tokens: n}
	}
	return lim
}

// least is the lowest limit that a document may have by its kind, where others have lim.
func (s *Shaper) least(lim limit) int {
	n := lim.tokens
	if lim.chars > 0 {
		n = lim.chars
	}
	for _, of := range s.opts.KindTokens {
		if of > 0 {
			n = min(n, of)
		}
	}
	return n
}

// under is the lower of l and other.
func (l limit) under(other limit) limit {
	if other.tokens < l.tokens {
		return other
	}
	return l
}

// answers is the limit of what queries give: an agent that asked for something by name
// wants it, so it is twice as high as that of results.
func (s *Shaper) answers() limit {
	lim := s.limit(Policy{})
	return limit{tokens: 2 * lim.tokens, chars: 2 * lim.chars}
}

// Budget is how many tokens the answer of a query may have.
func (s *Shaper) Budget() int { return s.answers().tokens }

// Fits reports whether data below a header is short enough for the answer of a query.
func (s *Shaper) Fits(header string, data []byte) bool {
	return s.answers().fits(appendData([]byte(header), data))
}

// MaxWhole is how many tokens an answer may have that is asked for whole.
func (s *Shaper) MaxWhole() int { return s.opts.WholeTokens }

// fits reports whether text is within the limit.
func (l limit) fits(text []byte) bool {
	if l.chars > 0 {
		return len(text) <= l.chars || utf8.RuneCount(text) <= l.chars
	}
	return tokens.AtMost(text, l.tokens)
}

// admits reports whether a text of this size is within the limit. Any text of so
// many bytes is, too: a token, and a character, has at least one.
func (l limit) admits(size int) bool {
	if l.chars > 0 {
		return size <= l.chars
	}
	return size <= l.tokens
}

// less is what a text of this size leaves of the limit.
func (l limit) less(size int) limit {
	if l.chars > 0 {
		return limit{tokens: max(l.tokens-size/2, 1), chars: max(l.chars-size, 1)}
	}
	return limit{tokens: max(l.tokens-size, 1)}
}

// share is the limit of each of n.
func (l limit) share(n int) limit {
	if l.chars > 0 {
		return limit{tokens: max(l.tokens/n, 1), chars: max(l.chars/n, 1)}
	}
	return limit{tokens: max(l.tokens/n, 1)}
}

// count is how many tokens text has, by samples if it is long.
func count(text []byte) int {
	n, _ := tokens.Count(text)
	return n
}
