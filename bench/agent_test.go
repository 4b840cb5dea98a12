package bench

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"rlmproxy/middleware/rpc"
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
func hear(conn *rpc.Conn, tool, args string) (reply, error) {
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
	missing string // what the last step needed and the agent never read
	failed  int    // calls that were answered with an error
	tokens  int    // of all replies, and of the arguments of all calls but the first
	replies []reply
	asked   []string // the calls, as the agent writes them
}

// play lets the agent, who has the first reply, ask until it has read the
// answer, or has no step left. Where it does not know the names that a step
// needs, it looks around first, and pays for it.
func (t task) play(conn *rpc.Conn, first reply, facts []fact) (course, error) {
	c := course{calls: 1, replies: []reply{first}, tokens: cost(first.text)}
	if !first.cut {
		c.found = true // the whole result was read, like inlined
		return c, nil
	}
	c.found = t.told(facts, c.replies)
	c.preview = c.found
	ask := func(s step) error {
		args := s.fill(first, c.replies[len(c.replies)-1])
		r, err := hear(conn, s.tool, args)
		if err != nil {
			return fmt.Errorf("%s %s: %w", s.tool, args, err)
		}
		c.calls++
		if r.failed {
			c.failed++
		}
		c.tokens += cost(r.text) + cost(fmt.Sprintf(`{"name":%q,"arguments":%s}`, s.tool, args))
		c.replies = append(c.replies, r)
		c.asked = append(c.asked, s.tool+" "+args)
		c.found = t.told(facts, c.replies)
		return nil
	}
	lookAround := []step{explore(""), narrow(`"limit":1`)}
	for _, s := range t.steps {
		c.missing = t.unknown(s, s.fill(first, c.replies[len(c.replies)-1]), c.replies)
		for c.missing != "" && !c.found && len(lookAround) > 0 {
			if err := ask(lookAround[0]); err != nil {
				return c, err
			}
			lookAround = lookAround[1:]
			c.missing = t.unknown(s, s.fill(first, c.replies[len(c.replies)-1]), c.replies)
		}
		if c.found {
			break
		}
		if c.missing != "" {
			continue
		}
		if err := ask(s); err != nil {
			return c, err
		}
	}
	return c, nil
}

func cost(text string) int {
	n, _ := tokens.Count([]byte(text))
	return n
}

// unknown returns what a step names though the agent has not read it: a field, a
// path, a word or a number of the result that is neither in the question nor in
// an earlier reply.
func (t task) unknown(s step, args string, replies []reply) string {
	known := t.question
	for _, r := range replies {
		known += "\n" + r.text
	}
	var a struct {
		JQ, Pattern, Path string
		Fields, Exclude   []string
		Offset, Limit     int
	}
	if err := json.Unmarshal([]byte(args), &a); err != nil {
		return fmt.Sprintf("%s: %v", args, err)
	}
	names := append(namesOfJQ(a.JQ), namesOfPath(append(append(a.Fields, a.Exclude...), a.Path)...)...)
	if a.Limit == 0 || a.Offset%a.Limit != 0 { // else it turns pages
		names = append(names, strconv.Itoa(a.Offset))
	}
	for _, name := range names {
		if !has(known, name) {
			return name
		}
	}
	for _, word := range wordsOfPattern(a.Pattern) {
		if !strings.Contains(strings.ToLower(known), strings.ToLower(word)) {
			return word
		}
	}
	return ""
}

// has reports that known has name, or that name is a number so small that
// anybody counts to it.
func has(known, name string) bool {
	n, err := strconv.ParseFloat(name, 64)
	if err != nil {
		return len(occurrences(known, name))+len(occurrences(jsonEscaped.Replace(known), name)) > 0
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
// One letter is a flag.
func wordsOrAll(s string) []string {
	if len(s) == 1 || strings.ContainsAny(s, `\^$|*+?()[]`) || word.FindString(s) == "" {
		return wordsOfPattern(s)
	}
	return []string{s}
}

// namesOfPath are the fields of dotted paths.
func namesOfPath(paths ...string) []string {
	return strings.FieldsFunc(strings.Join(paths, "."), func(r rune) bool { return strings.ContainsRune(`.[]"'`, r) })
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
