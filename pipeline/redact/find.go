package redact

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
)

// generic is the rule that guesses. Where another one finds the same, that one is named.
const generic = "generic-api-key"

// A span is a secret in a text.
type span struct {
	from, to int
	rule     string
}

// A finder searches one text.
type finder struct {
	ctx   context.Context
	set   *ruleset
	text  []byte
	tried []int    // by rule: before that offset, it is not tried again
	wide  [][]span // by rule: where rules are searched that are not tried at keywords
	found []span
	err   error
	steps int
}

// find returns the secrets in text, in order and apart. It ends early with ctx.
func (set *ruleset) find(ctx context.Context, text []byte) ([]span, error) {
	f := &finder{ctx: ctx, set: set, text: text, tried: make([]int, len(set.rules)), wide: make([][]span, len(set.rules)), err: ctx.Err()}
	set.keywords.each(text, func(word, at int) bool {
		for _, n := range set.byKeyword[word] {
			f.at(n, at)
		}
		return f.err == nil
	})
	for n, windows := range f.wide {
		for _, w := range windows {
			f.window(n, w)
		}
	}
	return merged(f.found), f.err
}

// late reports whether the caller waits no longer, now and then.
func (f *finder) late() bool {
	if f.steps++; f.steps%64 == 0 && f.err == nil {
		f.err = f.ctx.Err()
	}
	return f.err != nil
}

// at tries rule n where one of its keywords begins.
func (f *finder) at(n, at int) {
	r := f.set.rules[n]
	r.once.Do(func() {
		if err := r.compile(); err != nil {
			panic(err) // TestRules compiles all
		}
	})
	if !r.atKeyword {
		f.widen(n, at)
		return
	}
	if at < f.tried[n] || r.named && !assigned(f.text[at:]) || f.late() {
		return
	}
	for reach := r.reach; ; reach *= 4 {
		from, to := at-1, min(at+reach, len(f.text))
		var text []byte
		if from < 0 {
			text = append([]byte{'\n'}, f.text[:to]...)
		} else {
			text = f.text[from:to]
		}
		m := r.search.FindSubmatchIndex(text)
		if m == nil {
			return
		}
		if from+m[1] == to && to < len(f.text) { // it may go on
			continue
		}
		m[0]++ // the byte before
		f.match(n, from, m)
		return
	}
}

// assigned reports whether a value can follow the name that text begins with. All rules
// that begin with anyName ask for that, and few names have one.
func assigned(text []byte) bool {
	const most = 128
	for _, c := range text[:min(len(text), most)] {
		if strings.IndexByte("=>:|,?", c) >= 0 {
			return true
		}
		if !isName(c) && strings.IndexByte(" \t\n\f\r'\"", c) < 0 {
			return false
		}
	}
	return false
}

// widen has rule n searched around at.
func (f *finder) widen(n, at int) {
	r := f.set.rules[n]
	from := max(0, at-1)
	if !r.leads {
		from = max(0, at-behind)
	}
	to := min(at+r.reach, len(f.text))
	if last := len(f.wide[n]) - 1; last >= 0 && from <= f.wide[n][last].to {
		f.wide[n][last].to = max(to, f.wide[n][last].to)
		return
	}
	f.wide[n] = append(f.wide[n], span{from: from, to: to})
}

// window searches rule n in a part of the text.
func (f *finder) window(n int, w span) {
	r := f.set.rules[n]
	for from := w.from; from < w.to && !f.late(); {
		m := r.search.FindSubmatchIndex(f.text[from:w.to])
		if m == nil {
			return
		}
		if from+m[1] == w.to && w.to < len(f.text) { // it may go on
			w.to = min(w.to+max(lastReach, w.to-from), len(f.text))
			from = max(from, from+m[0]-1)
			continue
		}
		f.match(n, from, m)
		from += max(m[1], 1)
	}
}

// match takes what rule n matched at m, from an offset on, for a secret, unless its
// entropy or an allowlist says otherwise.
func (f *finder) match(n, from int, m []int) {
	r := f.set.rules[n]
	group := r.SecretGroup
	if group == 0 && len(m) > 2 {
		for g := 1; g < len(m)/2; g++ {
			if m[2*g+1] > m[2*g] {
				group = g
				break
			}
		}
	}
	s := span{from: from + m[2*group], to: from + m[2*group+1], rule: r.ID}
	if m[2*group] < 0 || s.from == s.to {
		return
	}
	secret := string(f.text[s.from:s.to])
	if r.Entropy > 0 && entropy(secret) <= r.Entropy {
		return
	}
	var match, line string
	if r.targets {
		match, line = f.around(r, from+m[0], from+m[1])
	}
	allowed := func(a *allowlist) bool { return a.allows(secret, match, line) }
	if slices.ContainsFunc(r.Allowlists, allowed) || allowed(f.set.allowlist) {
		return
	}
	f.tried[n] = from + m[1]
	f.found = append(f.found, s)
}

// around returns the match from, to with the name before it, and the lines it is in.
func (f *finder) around(r *rule, from, to int) (match, line string) {
	start := from
	if r.named {
		for start > max(0, from-50) && isName(f.text[start-1]) {
			start--
		}
	}
	match = strings.Trim(string(f.text[start:to]), "\n")
	const most = 1 << 10
	before, after := f.text[max(0, start-most):start], f.text[to:min(to+most, len(f.text))]
	before = before[bytes.LastIndexByte(before, '\n')+1:]
	if end := bytes.IndexByte(after, '\n'); end >= 0 {
		after = after[:end]
	}
	return match, string(before) + match + string(after)
}

func isName(c byte) bool {
	return c == '_' || c == '.' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// merged makes one of secrets that overlap.
func merged(found []span) []span {
	slices.SortStableFunc(found, func(a, b span) int {
		return cmp.Or(a.from-b.from, b.to-a.to, strings.Compare(a.rule, b.rule))
	})
	var apart []span
	for _, s := range found {
		last := len(apart) - 1
		if last < 0 || s.from >= apart[last].to {
			apart = append(apart, s)
			continue
		}
		apart[last].to = max(apart[last].to, s.to)
		if apart[last].rule == generic {
			apart[last].rule = s.rule
		}
	}
	return apart
}
