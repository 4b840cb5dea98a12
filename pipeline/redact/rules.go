package redact

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

// rulesFile is the file of gitleaks as it is published; gen.go brings another version.
//
//go:embed gitleaks.toml
var rulesFile string

// RulesVersion is the version of gitleaks whose rules these are.
const RulesVersion = "v8.30.1"

// A rule says what one kind of secret looks like.
type rule struct {
	ID          string
	Regex       string
	SecretGroup int
	Entropy     float64 // what its secrets have more of, in bits a byte; 0: any
	Keywords    []string
	Allowlists  []*allowlist

	once    sync.Once // before the fields below are read
	targets bool      // an allowlist asks for more than the secret
	shape             // how Regex is tried
}

// An allowlist says what is no secret though a rule matches. Lists with paths are for
// files and never apply to results.
type allowlist struct {
	Condition   string
	Paths       []string
	RegexTarget string // "match", "line" or "" for the secret
	Regexes     []string
	StopWords   []string

	patterns []*regexp.Regexp
}

// A ruleset has all rules, and their keywords.
type ruleset struct {
	allowlist *allowlist // for all rules
	rules     []*rule
	keywords  *keywords
	byKeyword [][]int // rules by keyword
}

// rules reads the rules once, when the first text is searched.
var rules = sync.OnceValue(func() *ruleset {
	set, err := parseRules(rulesFile)
	if err != nil {
		panic(err) // TestRules reads the same bytes
	}
	return set
})

func parseRules(text string) (*ruleset, error) {
	var file struct {
		Allowlist *allowlist
		Rules     []*rule
	}
	if _, err := toml.Decode(text, &file); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	if file.Allowlist == nil {
		return nil, errors.New("rules: no allowlist for all of them")
	}
	set := &ruleset{allowlist: file.Allowlist}
	if err := set.allowlist.compile(); err != nil {
		return nil, err
	}
	var words []string
	for _, r := range file.Rules {
		if r.Regex == "" { // about the name of a file
			continue
		}
		if len(r.Keywords) == 0 {
			return nil, fmt.Errorf("rule %s: no keyword", r.ID)
		}
		for _, word := range r.Keywords {
			i := slices.Index(words, strings.ToLower(word))
			if i < 0 {
				i = len(words)
				words = append(words, strings.ToLower(word))
				set.byKeyword = append(set.byKeyword, nil)
			}
			set.byKeyword[i] = append(set.byKeyword[i], len(set.rules))
		}
		r.Allowlists = slices.DeleteFunc(r.Allowlists, func(a *allowlist) bool {
			return len(a.Regexes)+len(a.StopWords) == 0 || a.Condition == "AND" && len(a.Paths) > 0
		})
		set.rules = append(set.rules, r)
	}
	set.keywords = newKeywords(words)
	return set, nil
}

// compile prepares r at its first keyword: most rules never meet one.
func (r *rule) compile() (err error) {
	if r.shape, err = newShape(r.Regex, r.Keywords); err != nil {
		return fmt.Errorf("rule %s: %w", r.ID, err)
	}
	if r.SecretGroup > r.search.NumSubexp() {
		return fmt.Errorf("rule %s: no group %d", r.ID, r.SecretGroup)
	}
	for _, a := range r.Allowlists {
		if err := a.compile(); err != nil {
			return fmt.Errorf("rule %s: %w", r.ID, err)
		}
		r.targets = r.targets || a.RegexTarget != ""
	}
	return nil
}

func (a *allowlist) compile() error {
	for _, text := range a.Regexes {
		p, err := regexp.Compile(text)
		if err != nil {
			return err
		}
		a.patterns = append(a.patterns, p)
	}
	for i, word := range a.StopWords {
		a.StopWords[i] = strings.ToLower(word)
	}
	return nil
}

// allows reports whether a says that secret is none; match and line are where it stands.
func (a *allowlist) allows(secret, match, line string) bool {
	target := secret
	switch a.RegexTarget {
	case "match":
		target = match
	case "line":
		target = line
	}
	matches := slices.ContainsFunc(a.patterns, func(p *regexp.Regexp) bool { return p.MatchString(target) })
	lower := strings.ToLower(secret)
	stops := slices.ContainsFunc(a.StopWords, func(word string) bool { return strings.Contains(lower, word) })
	if a.Condition == "AND" {
		return (matches || len(a.patterns) == 0) && (stops || len(a.StopWords) == 0)
	}
	return matches || stops
}

// entropy is Shannon's, in bits a byte.
func entropy(s string) float64 {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	var sum float64
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
