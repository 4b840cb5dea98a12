// Package scan searches what servers say about themselves for text that speaks to a model behind
// a person's back.
//
//	a tool's definition, a server's instructions ─► every string in it ─► findings
//
// A finding is a hint for a person: nothing is refused for it, since a tool that sends
// mail says so in the same words as an attack.
package scan

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/show"
)

// A Finding is something odd in a text.
type Finding struct {
	Where string // the path of the text: inputSchema.properties.path.description
	What  string // on one line, without characters that a terminal obeys
}

func (f Finding) String() string { return f.Where + ": " + f.What }

// maxFindings bounds those of one definition; the last one says how many more there are.
const maxFindings = 20

// Definition returns what is odd in the strings of a tool's definition, its keys
// included: they reach the model too.
func Definition(raw json.RawMessage) []Finding {
	var found []Finding
	more := 0
	visit("", raw, func(path, text string) {
		all := Text(path, text)
		room := min(maxFindings-len(found), len(all))
		found = append(found, all[:room]...)
		more += len(all) - room
	})
	if more > 0 {
		found = append(found, Finding{"and", show.Plural(more, "more findings")})
	}
	return found
}

// visit calls f with every string in raw, and where it stands.
func visit(path string, raw json.RawMessage, f func(path, text string)) {
	switch jsonscan.Kind(raw) {
	case '"':
		f(path, jsonscan.Unquote(raw))
	case '{':
		for key, value := range jsonscan.Fields(raw) {
			name := jsonscan.Unquote(key)
			at := strings.TrimPrefix(path+"."+Line(show.Clip(name, 60)), ".")
			f(at, name)
			visit(at, value, f)
		}
	case '[':
		for i, value := range jsonscan.Items(raw) {
			visit(fmt.Sprintf("%s[%d]", path, i), value, f)
		}
	}
}

// A pattern is a form of words that tells a model what a person would not.
type pattern struct {
	what string
	re   *regexp.Regexp
	not  *regexp.Regexp // what stands before it where the text says not to; nil: nothing takes it back
}

// patterns are the forms that published attacks on tool descriptions have in common.
// Texts are matched in their compatibility form, without invisible characters.
var patterns = []pattern{
	{"tells the model to ignore other instructions", regexp.MustCompile(`(?i)\b(ignore|disregard|forget|override|bypass)\b[^.\n]{0,30}\b(previous|prior|above|earlier|other|all|any|system|user'?s?)\b[^.\n]{0,20}\b(instructions?|prompts?|rules|messages|guidelines)\b`), nil},
	{"has a tag that poses as an instruction", regexp.MustCompile(`(?i)<\s*/?\s*(important|system|instructions?|secret|hidden|critical|admin)\b[^>\n]{0,40}>`), nil},
	{"tells the model to keep something from the user", regexp.MustCompile(`(?i)\b(do not|don'?t|never|must not|without|avoid)\b[^.\n]{0,20}\b(tell|telling|mention|mentioning|inform|informing|reveal|revealing|disclose|notify|notifying|alert|show)\b[^.\n]{0,30}\b(the )?user\b`), nil},
	{"tells the model to pass on secrets", regexp.MustCompile(`(?i)\b(send|forward|upload|post|exfiltrate|email|include|attach|append|copy|pass)\b[^.\n]{0,60}\b(api keys?|secrets?|passwords?|credentials|private keys?|ssh keys?|conversation history|chat history|system prompt)\b`), regexp.MustCompile(`(?i)\b(do not|don'?t|never|must not|should not|cannot) +$`)},
	{"names a file that holds secrets", regexp.MustCompile(`(?i)(\.ssh/|\bid_(rsa|ed25519)\b|\.aws/credentials|/etc/(passwd|shadow)|\.cursor/mcp\.json|claude_desktop_config\.json)`), nil},
}

// find is where the pattern is in a text, nil for nowhere.
func (p pattern) find(text string) []int {
	for _, at := range p.re.FindAllStringIndex(text, -1) {
		if p.not == nil || !p.not.MatchString(text[:at[0]]) {
			return at
		}
	}
	return nil
}

// Text returns what is odd in a text that stands at where.
func Text(where, text string) (found []Finding) {
	if what := unseen(text); what != "" {
		found = append(found, Finding{where, what})
	}
	plain := norm.NFKC.String(strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, text))
	for _, p := range patterns {
		if at := p.find(plain); at != nil {
			found = append(found, Finding{where, p.what + `: "` + Line(show.Clip(plain[at[0]:at[1]], 100)) + `"`})
		}
	}
	return found
}
