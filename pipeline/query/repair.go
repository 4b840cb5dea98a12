package query

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"

	"github.com/itchyny/gojq"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/locate"
	"rlmproxy/pipeline/schema"
)

// proposals are repairs of a program that does not do, the likeliest first.
func (a *adviser) proposals(at attempt) (programs []string) {
	s := at.program
	propose := func(more ...string) { programs = append(programs, more...) }
	if at.failure == "" {
		propose(equalities(s)...)
		propose(a.fields(s)...)
		return programs
	}
	propose(html.UnescapeString(s))
	propose(without(wrappings, s)...)
	propose(a.forms(s)...)
	if m := firstKey.FindStringSubmatch(s); a.root != nil && a.root.Only() == "array" && !strings.HasPrefix(strings.TrimSpace(s), ".[") && (m == nil || !slices.Contains(a.words, m[2])) {
		propose(a.elsewhere(s)...)
	}
	propose(a.fields(s)...)
	propose(a.quoteKeys(s)...)
	if f := undefined.FindStringSubmatch(at.failure); f != nil {
		propose(a.calls(s, f[1])...)
	}
	if strings.Contains(at.failure, "cannot") || strings.Contains(at.failure, "expected a") {
		propose(a.strings(s)...)
		propose(equalities(s)...)
		propose(a.elsewhere(s)...)
	}
	if strings.Contains(at.failure, "cannot negate: string") { // a null hints at another mistake
		propose(descending.ReplaceAllString(s, "sort_by($1) | reverse"))
	}
	propose(a.translate(s, false), a.translate(s, true))
	propose(without(slips, s)...)
	propose(closed(s))
	return programs
}

var descending = regexp.MustCompile(`sort_by\(-\s*([^()]+)\)`)

var undefined = regexp.MustCompile(`function not defined: (\w+)/(\d)`)

// parsed is s as a query, or nil.
func parsed(s string) *gojq.Query {
	if jq.CheckSyntax(s) != nil {
		return nil
	}
	q, err := gojq.Parse(s)
	if err != nil {
		return nil
	}
	return q
}

// fields puts a path that is there in the place of one that leads nowhere, and a value of
// the right type in the place of one that no value equals.
func (a *adviser) fields(s string) (programs []string) {
	q := parsed(s)
	if a.root == nil || q == nil || a.ctx.Err() != nil {
		return nil
	}
	f := a.find(q)
	if u := f.unlike; u != nil {
		programs = append(programs, u.repaired(q)...)
	}
	if f.astray == nil {
		return programs
	}
	t, path := f.astray.term, f.astray.path
	own := *t
	if path[len(path)-1].Kind == doc.StepKey || len(path) == 1 {
		for _, p := range locate.Nearest(path, f.astray.from.paths(), 3) {
			if (locate.Meant(path, p) || len(path) == 1 && path[0].Kind == doc.StepEach) && put(t, own, p, len(path)) {
				programs = append(programs, q.String())
			}
			*t = own
		}
	}
	whole, _ := pathOf(stepsOf(&own))
	if len(whole) > len(path) {
		for _, p := range locate.Nearest(whole, f.astray.from.paths(), 2) {
			if locate.Meant(whole, p) && put(t, own, p, len(whole)) {
				programs = append(programs, q.String())
			}
			*t = own
		}
	}
	return programs
}

// paths are those below a place.
func (p place) paths() []doc.Path {
	var known []doc.Path
	if p.node != nil {
		known = p.node.Paths()
	}
	for range p.lists {
		for i := range known {
			known[i] = append(doc.Path{{Kind: doc.StepEach}}, known[i]...)
		}
	}
	return known
}

// stepsOf is the path of a term as suffixes.
func stepsOf(t *gojq.Term) []*gojq.Suffix {
	if t.Type == gojq.TermTypeIndex {
		return append([]*gojq.Suffix{{Index: t.Index}}, t.SuffixList...)
	}
	return t.SuffixList
}

// put makes the first n steps of a term those of a path.
func put(t *gojq.Term, own gojq.Term, p doc.Path, n int) bool {
	q, err := gojq.Parse(p.JQ())
	if err != nil || q.Term == nil {
		return false
	}
	rest := stepsOf(&own)
	for n > 0 && len(rest) > 0 {
		if rest[0].Index != nil || rest[0].Iter {
			n--
		}
		rest = rest[1:]
	}
	steps := append(append([]*gojq.Suffix{}, stepsOf(q.Term)...), rest...)
	if own.Type != gojq.TermTypeIndex && own.Type != gojq.TermTypeIdentity {
		t.SuffixList = steps
		return true
	}
	*t = *q.Term
	t.SuffixList = steps
	if t.Type == gojq.TermTypeIndex {
		t.SuffixList = steps[1:]
	}
	return true
}

// repaired puts the value in the place of the literal that could be meant.
func (u *unlike) repaired(q *gojq.Query) (programs []string) {
	t, own := u.literal, *u.literal
	defer func() { *t = own }()
	text := own.Number
	switch own.Type {
	case gojq.TermTypeTrue, gojq.TermTypeFalse:
		text = map[bool]string{true: "true", false: "false"}[own.Type == gojq.TermTypeTrue]
	case gojq.TermTypeString:
		text = own.Str.Str
		if u.with.Only() == "string" {
			text = jsonscan.Unquote(u.with.Values.Like(jsonscan.Quote(text)))
			*t = gojq.Term{Type: gojq.TermTypeString, Str: &gojq.String{Str: text}}
			return []string{q.String()}
		}
		if u.with.Only() == "array" { // which has it, maybe
			return []string{strings.Replace(q.String(), u.where+" == "+own.String(), "("+u.where+" | index("+own.String()+"))", 1)}
		}
		switch {
		case jsonscan.IsNumber(text):
			*t = gojq.Term{Type: gojq.TermTypeNumber, Number: text}
		case strings.EqualFold(text, "true"):
			*t = gojq.Term{Type: gojq.TermTypeTrue}
		case strings.EqualFold(text, "false"):
			*t = gojq.Term{Type: gojq.TermTypeFalse}
		default:
			return nil
		}
		return []string{q.String()}
	}
	*t = gojq.Term{Type: gojq.TermTypeString, Str: &gojq.String{Str: text}}
	return []string{q.String()}
}

// elsewhere runs a program on the records of an object, or on a list that it takes for an
// object that holds one.
func (a *adviser) elsewhere(s string) (programs []string) {
	switch {
	case a.in.Kind == doc.Text && a.root == nil:
		s = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(s), ".[]"), " | ")
		return []string{`split("\n") | ` + s, `split("\n")[] | ` + s}
	case a.root == nil:
	case len(a.list) > 0:
		for i := range a.list {
			if holder := a.list[:i].JQ() + " |"; i > 0 && strings.HasPrefix(s, holder) {
				programs = append(programs, a.list.JQ()+" |"+strings.TrimPrefix(s, holder))
			}
		}
		programs = append(programs, a.list.JQ()+" | "+s)
		if a.list[len(a.list)-1].Kind == doc.StepKey {
			programs = append(programs, a.list.JQ()+"[] | "+s)
		}
	case a.root.Kinds[schema.IsArray] > 0:
		programs = append(programs, firstKey.ReplaceAllString(s, "$1."), ".[] | "+s, "map("+s+")")
	case a.root.Rest != nil:
		programs = append(programs, ".[] | "+s, "to_entries | "+s)
	}
	return programs
}

// firstKey is the key that a program begins with.
var firstKey = regexp.MustCompile(`^(\s*\[?\s*)\.(\w+)`)

// calls repairs the call of a function that jq does not have by that name, or not with so
// many arguments.
func (a *adviser) calls(s, name string) (programs []string) {
	for _, moved := range []bool{false, true} {
		q := parsed(s)
		changed := false
		if q == nil {
			return programs
		}
		walk(q, func(f *gojq.Func) {
			switch n := len(f.Args); {
			case f.Name != name:
			case n == 0:
			case !moved && n == 1 && jq.Compiles(name+"_by(.)"):
				f.Name, changed = name+"_by", true
			case moved && jq.Compiles(name+"("+strings.TrimSuffix(strings.Repeat(".;", n-1), ";")+")") || moved && n == 1 && jq.Compiles(name):
				first := f.Args[0]
				inner := &gojq.Func{Name: f.Name, Args: f.Args[1:]}
				f.Name, f.Args = "first", []*gojq.Query{{Left: first, Op: gojq.OpPipe, Right: &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: inner}}}}
				changed = true
			}
		})
		if changed {
			programs = append(programs, q.String())
		}
	}
	return programs
}

// takers are functions that take a string, which a null or a number is not.
var takers = strings.Fields("test match capture scan split splits sub gsub startswith endswith ltrimstr rtrimstr ascii_downcase ascii_upcase contains explode trim")

// strings makes strings of what functions of strings and + take.
func (a *adviser) strings(s string) []string {
	q := parsed(s)
	if q == nil {
		return nil
	}
	isCall := func(q *gojq.Query) bool { return q != nil && q.Term != nil && q.Term.Type == gojq.TermTypeFunc }
	isTaker := func(q *gojq.Query) bool { return isCall(q) && slices.Contains(takers, q.Term.Func.Name) }
	text := func(of *gojq.Query) *gojq.Query {
		isPath := of != nil && of.Term != nil && of.Term.Type == gojq.TermTypeIndex || isCall(of) && of.Term.Func.Name[0] == '$'
		if made, err := gojq.Parse(fmt.Sprintf(`(%s // "" | tostring)`, of)); isPath && err == nil {
			return made
		}
		return of
	}
	walk(q, func(part *gojq.Query) {
		switch {
		case part.Op == gojq.OpPipe && (isTaker(part.Right) || part.Right.Op != 0 && isTaker(part.Right.Left)):
			part.Left = text(part.Left)
		case part.Op == gojq.OpAdd:
			part.Left, part.Right = text(part.Left), text(part.Right)
		}
	})
	return []string{q.String()}
}

// walk calls visit for each part of a query that is a T.
func walk[T any](q *gojq.Query, visit func(T)) {
	visitPart := func(part any) {
		if p, ok := part.(T); ok {
			visit(p)
		}
	}
	visitPart(q)
	jq.Walk(q, visitPart)
}
