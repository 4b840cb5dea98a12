package query

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/locate"
	"rlmproxy/pipeline/records"
	"rlmproxy/pipeline/schema"
	"rlmproxy/pipeline/show"
)

// A jq program that names a field which is not there does not fail: it puts out
// null, nothing, or that none were found, which reads like an answer. So a program
// whose answer is as empty as that is looked through for such a field, and one that
// fails for what was meant. Repairs of it are tried on the document, and repaired in
// turn; the first that gives something is what the agent is told to use.
//
//	program, failure ──► proposals ──► try ──► use: …
//	                         ▲───────────┘ fails

// Variables, as tests run on busy machines.
var (
	// adviceTime bounds the look and all tries, whose answer is there without them. To
	// look through a document of 50 MB takes 0.3 s.
	adviceTime = 2 * time.Second
	// tryTime bounds one try.
	tryTime = time.Second
)

const (
	// maxAdvised bounds the programs that are looked through, in bytes.
	maxAdvised = 1000
	// maxTries bounds the repairs that are run, maxProposals those that are looked at.
	maxTries, maxProposals = 30, 120
	// missingDepth is how many levels of fields are known of.
	missingDepth = 8
)

// isEmpty reports whether an output of a program says nothing: it is null as often
// as it comes, or none of something.
func isEmpty(out jq.Output) bool {
	if out.N == 1 {
		switch string(bytes.TrimSpace(out.Data)) {
		case "null", "0", "[]", "{}", "false", `""`, "[null]":
			return true
		}
	}
	const null = "null\n"
	return len(out.Data) == out.N*len(null) && bytes.Count(out.Data, []byte(null)) == out.N
}

// An adviser repairs a program for a document.
type adviser struct {
	q      *JQ
	ctx    context.Context
	cancel context.CancelFunc
	doc    doc.Value    // to try on; the zero Value if there is none
	in     doc.Value    // doc, of a table its records
	root   *schema.Node // of in; nil for a text
	words  []string     // the names of fields
	list   doc.Path     // the records of an object
	tries  int
}

// advise adds to an answer that is empty or has a null, or to why the program failed, what was meant.
func (q *JQ) advise(ctx context.Context, in doc.Value, out *doc.Value, empty bool, failed error) error {
	var e *doc.Error
	if failed != nil && !errors.As(failed, &e) {
		return failed
	}
	if e != nil && e.Code == doc.LimitTime {
		return &doc.Error{Code: e.Code, Text: e.Text, Hint: slowHint(in, q.Program, e.Hint), Err: e.Err}
	}
	if e != nil && (e.Code != doc.BadJQ || e.Hint != "") {
		return failed
	}
	a := newAdviser(ctx, q, in)
	defer a.cancel()
	var said []string
	fixed := ""
	if len(q.Program) <= maxAdvised {
		said = a.look(q.Program)
		if e == nil && sets(q.Program) {
			said = append(said, "= sets a field, == compares")
		}
		if e != nil || len(said) > 0 || empty {
			fixed = a.repair(q.Program, e)
		}
	}
	if e == nil {
		if fixed != "" {
			said = append(said, "use: "+fixed)
		}
		out.AddNote(strings.Join(said, "; "))
		return nil
	}
	repaired := *e
	repaired.Hint = hintFor(e.Text, a, said, fixed)
	return &repaired
}

func newAdviser(ctx context.Context, q *JQ, in doc.Value) *adviser {
	ctx, cancel := context.WithTimeout(ctx, adviceTime)
	a := &adviser{q: q, ctx: ctx, cancel: cancel, doc: in, in: in}
	if rows, ok, err := records.Of(ctx, in); ok && err == nil {
		a.in = rows.Value
	}
	if a.in.Kind == doc.Text {
		return a
	}
	root, err := schema.Survey(ctx, a.in, missingDepth)
	if err != nil {
		return a
	}
	a.root = root
	for _, p := range root.Paths() {
		if last := p[len(p)-1].Key; last != "" {
			a.words = append(a.words, last)
		}
	}
	if a.in.Kind == doc.JSON && jsonscan.Kind(a.in.Data) == '{' { // of a map no names are known
		for key := range jsonscan.Fields(bytes.TrimSpace(a.in.Data)) {
			if name := jsonscan.Unquote(key); len(name) > 1 && strings.Contains(q.Program, name) {
				a.words = append(a.words, name)
			}
		}
	}
	if l, ok := schema.MainList(a.in, root); ok {
		a.list = l.At
	}
	return a
}

// find follows the way of the data through a program.
func (a *adviser) find(q *gojq.Query) (f fieldFinder) {
	if a.root != nil && q != nil {
		f.data = a.in.Data
		f.query(q, place{node: a.root})
	}
	return f
}

// look says what of the document a program that puts out nothing misses.
func (a *adviser) look(source string) (said []string) {
	f := a.find(parsed(source))
	if f.missing != nil {
		var e *doc.Error
		if errors.As(locate.NoField(a.ctx, a.in, f.missing), &e) {
			said = append(said, e.Text+"; "+e.Hint)
		}
	}
	if u := f.unlike; u != nil && f.missing == nil {
		said = append(said, fmt.Sprintf("%s is never %s: %s", show.Clip(u.where, 60), show.Clip(u.literal.String(), 60), u.has()))
	}
	return said
}

// has says what the values are.
func (u *unlike) has() string {
	kind := u.with.Only()
	if kind != "array" && kind != "object" {
		if values, _ := u.with.Values.Summary(u.with.Count, false); values != "" && len(values) < 100 {
			return kind + " " + values
		}
	}
	return "it is a " + strings.Replace(kind, "array", "list", 1)
}

// An attempt is a program that does not do.
type attempt struct {
	program string
	failure string // why it fails; "" if it gives nothing
	depth   int
}

// repair returns a program that gives something on the document, or "".
func (a *adviser) repair(source string, failed *doc.Error) string {
	first := attempt{program: source}
	if failed != nil {
		first.failure = failed.Text
	}
	queue, seen := []attempt{first}, map[string]bool{source: true}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, program := range a.proposals(at) {
			program = strings.TrimSpace(program)
			if program == "" || len(program) > 2*maxAdvised || seen[program] {
				continue
			}
			if seen[program] = true; len(seen) > maxProposals || a.ctx.Err() != nil {
				return ""
			}
			failure, ok := a.try(program)
			if ok {
				return program
			}
			if at.depth < 3 {
				queue = append(queue, attempt{program, failure, at.depth + 1})
			}
		}
	}
	return ""
}

// try reports whether a program gives something, else why it fails.
func (a *adviser) try(program string) (failure string, ok bool) {
	if err := jq.CheckSyntax(program); err != nil {
		return err.Error(), false
	}
	if a.doc.Data == nil {
		return "", true
	}
	if a.tries++; a.tries > maxTries {
		return "", false
	}
	ctx, cancel := context.WithTimeout(a.ctx, tryTime)
	defer cancel()
	out, err := (&JQ{Program: program, Pool: a.q.Pool, Agent: a.q.Agent}).on(ctx, a.doc)
	if err != nil {
		return err.Error(), false
	}
	f := a.find(parsed(program))
	return "", !isEmpty(out) && out.N > 0 && !sets(program) && f.missing == nil && f.unlike == nil
}

// slowHint is what to write instead of a program that takes too long.
func slowHint(in doc.Value, program, other string) string {
	switch {
	case in.Kind == doc.Text:
		return other + `; for a text: split("\n")[] | select(startswith("…")), or proxy_search`
	case strings.Contains(program, "reduce"), strings.Contains(program, "foreach"):
		return other + `; without reduce: map({key: (.id | tostring), value: .}) | from_entries, or group_by(.id) | map({id: .[0].id, n: length})`
	case strings.Count(program, "[]") > 1:
		return other + `; to join lists: INDEX(.id) as $by | … $by[.ref | tostring]`
	}
	return other + "; group_by is faster than select for each value"
}

// hints are for programs that fail and have no repair: the first counts whose words the
// failure has.
var hints = []struct{ words, hint string }{
	{`unexpected token "'"`, "strings take double quotes"},
	{"expected an object but got: array", "an array needs [] before a field"},
	{"cannot iterate over: null", "that field is missing here; []? and .field[]? skip missing values"},
	{"cannot iterate over", "[] needs an array or object; []? skips others"},
	{`but got: string ("{`, "that string holds JSON: .field | fromjson | .id"},
	{`but got: string ("[`, "that string holds JSON: .field | fromjson | .id"},
	{"expected an object", ".field? skips values of another type; proxy_explore shows the types"},
	{"expected an array", ".field? skips values of another type; proxy_explore shows the types"},
	{"cannot negate: null", "some of these values are null; a comma binds tighter than |: put ( ) around each part"},
	{"unexpected token", "a program looks like .items[] | {name, id}"},
	{"unexpected EOF", "a program looks like .items[] | {name, id}"},
	{"cannot be matched", `a field may be null or a number: (.field // "" | tostring) is a string`},
	{"cannot be applied to", `a field may be null or a number: (.field // "" | tostring) is a string`},
	{"function not defined", "jq has no such function; proxy_explore shows which fields exist"},
	{"", "proxy_explore shows fields and types"},
}

// hintFor is the hint for a program that fails for a reason.
func hintFor(text string, a *adviser, said []string, fixed string) string {
	has := func(words string) bool { return strings.Contains(text, words) }
	switch {
	case has("regular expression") && (has("Perl syntax") || has("invalid escape sequence: `\\") || has("invalid named capture")):
		said = append(said, "RE2 has no lookahead, lookbehind or backreference: match more, and capture a part")
	case has("input(s)/0 is not allowed"):
		said = append(said, "the only input is .")
	case len(said) > 0 || fixed != "":
	case a.in.Kind == doc.Text && (has("but got: string") || has("cannot iterate over: string")):
		said = append(said, `the document is text, one string: split("\n") | map(select(test("error")))`)
	default:
		for _, h := range hints {
			if has(h.words) {
				said = append(said, h.hint)
				break
			}
		}
	}
	if fixed != "" {
		said = append(said, "use: "+fixed)
	}
	return strings.Join(said, "; ")
}
