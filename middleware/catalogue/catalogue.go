// Package catalogue searches the tools of servers, so that an agent need not read them all.
//
//	definitions ─► New ─► Find(query) ─► the best tools ─► Signature: a line each
//	a definition ─► Compact: the same meaning in fewer tokens
//	arguments ─► Check: what is wrong with them, by the tool's schema
//
// Definitions are what tools/list has of a tool, under the name that agents know. They are
// written by servers, which nobody needs to trust.
package catalogue

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/tidwall/gjson"

	"rlmproxy/search"
)

// A Tool is one that can be found.
type Tool struct {
	Server     string // its name, and what else speaks of all of its tools
	Own        string // its name at its server
	Definition []byte // as agents get it
}

// An Index finds tools. It is safe for concurrent use.
type Index struct {
	fields *search.FieldIndex
	terms  []string // of four letters or more, for misspelt ones
}

// The fields of a tool, and how much a word in each says. The weights are a guess: on
// what people ask in bench/catalogue, each of them at 0.3 to 2.5 times changed the number of
// right tools in the first place by at most 4 of 100.
var fields = []search.Field{
	{Weight: 3, B: 0.5},   // name
	{Weight: 2, B: 0.5},   // title
	{Weight: 1.5, B: 0.3}, // server
	{Weight: 2, B: 0.5},   // first sentence
	{Weight: 0.7, B: 0.7}, // the rest of the description
	{Weight: 0.4, B: 0.7}, // parameters
}

const (
	// maxText bounds what is read of one description, and of the parameters of a tool: a
	// server may have 2,000 tools.
	maxText = 4 << 10
	// maxQuery bounds the bytes that are read of a query, and maxUnknown its words that are
	// looked for in other spellings.
	maxQuery, maxUnknown = 1000, 5
	// synonymWeight is how much another word for the same counts.
	synonymWeight = 0.5
)

// New reads the definitions of tools. It takes some 0.1 ms for each.
func New(tools []Tool) *Index {
	documents := make([][]string, len(tools))
	for i, t := range tools {
		documents[i] = texts(t)
	}
	ix := &Index{fields: search.NewFieldIndex(fields, documents)}
	ix.fields.Vocabulary(func(term string) {
		if len(term) >= minMisspelt {
			ix.terms = append(ix.terms, term)
		}
	})
	slices.Sort(ix.terms)
	return ix
}

// texts are those of the fields.
func texts(t Tool) []string {
	raw := t.Definition
	description := cut(gjson.GetBytes(raw, "description").String(), maxText)
	first, rest := sentence(description)
	title := gjson.GetBytes(raw, "title").String() + " " + gjson.GetBytes(raw, "annotations.title").String()
	var parameters strings.Builder
	gjson.GetBytes(raw, "inputSchema.properties").ForEach(func(name, schema gjson.Result) bool {
		parameters.WriteString(name.String() + " " + schema.Get("description").String() + " ")
		schema.Get("enum").ForEach(func(_, value gjson.Result) bool {
			parameters.WriteString(value.String() + " ")
			return parameters.Len() < maxText
		})
		return parameters.Len() < maxText
	})
	return []string{t.Own, cut(title, maxText), cut(t.Server, maxText), first, rest, cut(parameters.String(), maxText)}
}

// Find returns the places of at most limit tools that a query may mean, best first, of those
// for which may reports true. A word of it counts in any form, as one of its synonyms, and,
// where no such tool has it, as the word that it is a letter or two away from. The first
// thousand bytes of a query count. None is found for a query without words.
func (ix *Index) Find(query string, limit int, may func(place int) bool) []int {
	asked := map[int]bool{} // what may has said
	seen := func(place int) bool {
		is, ok := asked[place]
		if !ok {
			is = may(place)
			asked[place] = is
		}
		return is
	}
	var terms []search.Term
	known, unknown := map[string]bool{}, 0
	for n, part := range parts(cut(query, maxQuery)) {
		for _, t := range slices.Compact(search.QueryTerms(part)) {
			if known[t] || asking[t] {
				continue
			}
			known[t] = true
			term := search.Term{Weight: 1, Forms: []search.Alternative{{Text: t, Weight: 1}}}
			if n > 0 {
				term.Weight = purposeWeight
			}
			for _, other := range synonyms[t] {
				term.Forms = append(term.Forms, search.Alternative{Text: other, Weight: synonymWeight})
			}
			if !ix.fields.Has(t, seen) && unknown < maxUnknown {
				unknown++
				for _, near := range ix.near(t, seen) {
					term.Forms = append(term.Forms, search.Alternative{Text: near, Weight: 0.8})
				}
			}
			terms = append(terms, term)
		}
	}
	var found []int
	for most := limit; ; most *= 8 {
		found = found[:0]
		ranked := ix.fields.Rank(terms, most)
		for _, r := range ranked {
			if seen(r.Passage) && len(found) < limit {
				found = append(found, r.Passage)
			}
		}
		if len(found) == limit || len(ranked) < most {
			return found
		}
	}
}

// purposeWeight is how much a word counts that says what for.
const purposeWeight = 0.3

// parts are a query without what it is for, and that.
func parts(query string) []string {
	if at := purpose.FindStringIndex(query); at != nil && at[0] > 10 {
		return []string{query[:at[0]], query[at[1]:]}
	}
	return []string{query}
}

var purpose = regexp.MustCompile(`(?i)[ ,](so that|in order to|because|without) `)

// asking are the stems of words that say that somebody wants something, and not what.
var asking = func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields("need want like please help let us so all any every some one another thing way using use there now first also just tool may must") {
		set[search.Terms(w)[0]] = true
	}
	return set
}()

const (
	minMisspelt = 4  // letters of a word that may be misspelt
	maxMisspelt = 24 // longer words are ids
)

// near are the terms that t may be a misspelling of: those that are nearest, one edit away,
// or two of a long word. Those of tools that are not seen are not there: else what is found
// would tell of them.
func (ix *Index) near(t string, seen func(place int) bool) (all []string) {
	if len(t) < minMisspelt || len(t) > maxMisspelt {
		return nil
	}
	most := 1
	if len(t) >= 6 {
		most = 2
	}
	for _, term := range ix.terms {
		if n := len(term) - len(t); n > most || -n > most {
			continue
		}
		switch d := levenshtein.ComputeDistance(t, term); {
		case d > most || !ix.fields.Has(term, seen):
		case d < most:
			most, all = d, append(all[:0], term)
		default:
			all = append(all, term)
		}
	}
	return all
}

// synonyms are other words for what tools do and what they do it to, by stem.
var synonyms = func() map[string][]string {
	all := map[string][]string{}
	for _, words := range [][]string{
		{"get", "fetch", "retrieve", "read", "view", "show", "look", "display", "open"},
		{"list", "show", "browse", "enumerate", "see"},
		{"search", "find", "query", "look", "lookup", "grep", "locate"},
		{"create", "add", "new", "make", "insert", "start", "open", "write", "register"},
		{"update", "edit", "modify", "change", "set", "patch", "alter", "adjust"},
		{"delete", "remove", "erase", "drop", "clear", "discard", "destroy"},
		{"send", "post", "submit", "publish", "write"},
		{"run", "execute", "invoke", "launch", "start", "perform"},
		{"stop", "cancel", "end", "abort", "terminate", "kill", "close"},
		{"move", "rename", "relocate"},
		{"copy", "duplicate", "clone", "fork"},
		{"compare", "diff", "difference", "change"},
		{"directory", "folder", "path"},
		{"file", "document"},
		{"repository", "repo", "project"},
		{"commit", "revision", "history", "log"},
		{"pull", "pr", "merge"},
		{"issue", "bug", "ticket", "task"},
		{"comment", "reply", "note", "remark"},
		{"user", "person", "people", "member", "account"},
		{"customer", "client", "buyer"},
		{"message", "chat", "conversation", "text"},
		{"channel", "room"},
		{"image", "picture", "photo", "screenshot"},
		{"page", "website", "site", "web", "url", "link"},
		{"navigate", "go", "visit", "open", "goto", "browse"},
		{"click", "press", "tap"},
		{"type", "enter", "fill", "input"},
		{"database", "db", "sql", "table"},
		{"metadata", "info", "information", "detail", "stat", "property"},
		{"money", "payment", "charge", "pay"},
		{"refund", "reimburse", "return"},
		{"invoice", "bill"},
		{"size", "large", "big"},
		{"error", "exception", "failure", "crash", "problem"},
		{"log", "output"},
		{"address", "location", "place", "coordinate"},
		{"direction", "route", "way"},
		{"weather", "forecast"},
		{"remember", "store", "save", "memory", "keep"},
		{"upload", "attach", "push"},
		{"download", "export"},
	} {
		var stems []string
		for _, w := range words {
			stems = append(stems, search.Terms(w)[0])
		}
		for _, s := range stems {
			for _, other := range stems {
				if other != s && !slices.Contains(all[s], other) {
					all[s] = append(all[s], other)
				}
			}
		}
	}
	return all
}()
