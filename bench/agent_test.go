package bench

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"rlmproxy/middleware/wire"
	"rlmproxy/pipeline/tokens"
)

// A reply is what an agent reads of a call.
type reply struct {
	text   string
	id     string
	cut    bool // a part of something that is kept under id
	failed bool
}

// hear makes a call. A tool's error is a reply too: the agent reads it.
func hear(conn *wire.Conn, tool, args string) (reply, error) {
	raw, err := call(conn, tool, args)
	if err != nil {
		return reply{}, err
	}
	var r struct {
		Content []struct{ Text string }
		IsError bool
		Meta    struct {
			Result struct {
				CacheID string `json:"cache_id"`
			} `json:"rlmproxy/result"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return reply{}, err
	}
	out := reply{id: r.Meta.Result.CacheID, failed: r.IsError}
	for _, block := range r.Content {
		out.text += block.Text
	}
	out.cut = strings.HasPrefix(out.text, "[cut:")
	return out, nil
}

// A course is how a task went.
type course struct {
	found   bool
	preview bool // the first reply, of a result that was cut, had the answer
	calls   int
	failed  int // calls that were answered with an error
	tokens  int // of all replies, and of the arguments of all calls but the first
	replies []reply
	asked   []string // the calls, as the agent writes them
}

// play lets the agent ask until it has read the answer, or has no step left.
func (t task) play(conn *wire.Conn, tool string, facts []fact) (course, error) {
	first, err := hear(conn, tool, `{}`)
	if err != nil {
		return course{}, err
	}
	c := course{calls: 1, replies: []reply{first}, tokens: cost(first.text)}
	if !first.cut {
		c.found = true // the whole result was read, like inlined
		return c, nil
	}
	c.found = t.told(facts, c.replies)
	c.preview = c.found
	for _, s := range t.steps {
		if c.found {
			break
		}
		args := s.fill(first, c.replies[len(c.replies)-1])
		if err := t.knows(s, args, c.replies); err != nil {
			return c, err
		}
		r, err := hear(conn, s.tool, args)
		if err != nil {
			return c, fmt.Errorf("%s %s: %w", s.tool, args, err)
		}
		c.calls++
		if r.failed {
			c.failed++
		}
		c.tokens += cost(r.text) + cost(fmt.Sprintf(`{"name":%q,"arguments":%s}`, s.tool, args))
		c.replies = append(c.replies, r)
		c.asked = append(c.asked, s.tool+" "+args)
		c.found = t.told(facts, c.replies)
	}
	return c, nil
}

func cost(text string) int {
	n, _ := tokens.Count([]byte(text))
	return n
}

// knows fails when a step names something that the agent has not read: a field,
// a path, a word or a number of the result that is neither in the question nor
// in an earlier reply.
func (t task) knows(s step, args string, replies []reply) error {
	known := t.question
	for _, r := range replies {
		known += "\n" + r.text
	}
	var a struct {
		JQ, Pattern, Path string
		Fields, Exclude   []string
		Offset            int
	}
	if err := json.Unmarshal([]byte(args), &a); err != nil {
		return fmt.Errorf("%s %s: %w", s.tool, args, err)
	}
	for _, name := range append(append(namesOfJQ(a.JQ), namesOfPath(append(append(a.Fields, a.Exclude...), a.Path)...)...), strconv.Itoa(a.Offset)) {
		if !has(known, name) {
			return fmt.Errorf("%s %s: the agent cannot know %q", s.tool, args, name)
		}
	}
	for _, word := range wordsOfPattern(a.Pattern) {
		if !strings.Contains(strings.ToLower(known), strings.ToLower(word)) {
			return fmt.Errorf("%s %s: the agent cannot know %q", s.tool, args, word)
		}
	}
	return nil
}

// has reports that known has name, or that name is a number so small that
// anybody counts to it.
func has(known, name string) bool {
	n, err := strconv.ParseFloat(name, 64)
	if err != nil {
		return strings.Contains(strings.ReplaceAll(known, `\"`, `"`), name)
	}
	if n >= -10 && n <= 10 {
		return true
	}
	// A line is asked for by the number before, as offsets count from 0.
	for _, f := range []fact{{num: n, tol: 1e-9}, {num: n + 1, tol: 1e-9}} {
		if f.in(known, false) {
			return true
		}
	}
	return false
}

var (
	jqString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	jqName   = regexp.MustCompile(`[.$@]?\s*[A-Za-z_][A-Za-z0-9_]*\s*:?|\d+(?:\.\d+)?`)
	jqMade   = regexp.MustCompile(`\bdef +\w+\([^)]*\)|\b[A-Za-z_]\w*\s*:`)
	escaped  = regexp.MustCompile(`\\[a-zA-Z]|\(\?[a-z]+\)`)
	word     = regexp.MustCompile(`[A-Za-z0-9_]+`)
)

// namesOfJQ are the fields, texts and numbers of a program. The names of
// members that it makes, its variables and its functions are its own.
func namesOfJQ(program string) []string {
	var names []string
	bare := jqString.ReplaceAllStringFunc(program, func(s string) string {
		if u, err := strconv.Unquote(s); err == nil && u != "" {
			names = append(names, wordsOrAll(u)...)
		}
		return " "
	})
	own := map[string]bool{}
	for _, m := range jqMade.FindAllString(bare, -1) {
		for _, name := range word.FindAllString(m, -1) {
			own[name] = true
		}
	}
	for _, m := range jqName.FindAllString(bare, -1) {
		switch name := strings.TrimSpace(strings.TrimPrefix(m, ".")); {
		case m[0] == '$' || m[0] == '@':
		case own[strings.TrimSuffix(name, ":")] || m[0] != '.' && jqWords[name] || m[0] == '.' && jqMembers[name]:
		default:
			names = append(names, strings.TrimSuffix(name, ":"))
		}
	}
	return names
}

// wordsOrAll is a string of a program: as a pattern its words, else all of it.
func wordsOrAll(s string) []string {
	if strings.ContainsAny(s, `\^$|*+?()[]`) || word.FindString(s) == "" {
		return wordsOfPattern(s)
	}
	return []string{s}
}

// namesOfPath are the fields of dotted paths.
func namesOfPath(paths ...string) (names []string) {
	for _, p := range paths {
		for _, name := range strings.FieldsFunc(p, func(r rune) bool { return strings.ContainsRune(`.[]"'`, r) }) {
			names = append(names, name)
		}
	}
	return names
}

// wordsOfPattern are the words of a regular expression that are no knowledge of
// its syntax or of the format.
func wordsOfPattern(pattern string) (words []string) {
	for _, w := range word.FindAllString(escaped.ReplaceAllString(pattern, " "), -1) {
		if len(w) > 1 && !formatWords[w] {
			words = append(words, w)
		}
	}
	return words
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

var (
	jqWords = set(`add all and any as ascii_downcase capture contains def del elif else empty end endswith entries
		explode first flatten floor foreach from_entries fromjson group_by has if in index input join keys keys_unsorted
		last length limit ltrimstr map map_values match max max_by min min_by not null numbers objects arrays strings or
		path paths range recurse reduce reverse round rtrimstr scan select sort sort_by split sqrt startswith sub test
		then to_entries tojson tonumber tostring true false try type unique unique_by until values walk with_entries
		splits gsub getpath tostream inside label break error`)
	// jqMembers are what to_entries and match make.
	jqMembers = set("key value captures string")
	// formatWords are known to whoever knows the format: Go, TypeScript, diffs,
	// HTML, logs.
	formatWords = set(`panic goroutine created running diff git ERROR FATAL interface type func href`)
)
