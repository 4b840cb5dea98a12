package bench

import (
	"regexp"
	"strings"
)

// A kind says what a question asks for, and so how much of a result its answer
// needs.
type kind string

const (
	structure  kind = "structure" // fields, how many, which range
	value      kind = "value"     // one value of one record
	count      kind = "count"
	filter     kind = "filter"
	top        kind = "top-N"
	aggregate  kind = "aggregate"
	logLine    kind = "log line"
	definition kind = "definition"
	section    kind = "section"
	fileList   kind = "files"
	cause      kind = "cause"
)

// ofAll reports whether an answer of this kind says something of all records,
// so that it cannot be read off some of them.
func (k kind) ofAll() bool {
	switch k {
	case structure, count, filter, top, aggregate, fileList:
		return true
	}
	return false
}

// A task is a question about one result, and the calls that an agent would make
// one after the other until it has read the answer.
type task struct {
	file     string
	kind     kind
	question string
	// answer computes from the result what must be read. All facts must be.
	answer func(data []byte) []fact
	// stated matches what stands beside an answer of some kinds in a preview when
	// the preview says it of the whole, and not of the rows that it shows: see
	// (task).told. "14 commits" says so by itself. Nil means that a preview does
	// not answer this.
	stated *regexp.Regexp
	steps  []step
}

// A step is one follow-up call. In args, $id is the cache ID of the first
// reply, $last that of the previous reply, if it has one, and $line the number
// of the first line that the previous reply names, counted from 0.
type step struct {
	tool string
	args string
}

func explore(args string) step { return step{"proxy_explore", args} }
func narrow(args string) step  { return step{"proxy_filter", args} }
func find(args string) step    { return step{"proxy_search", args} }

// jq is a proxy_filter call with a program.
func jq(program string) step { return narrow(`"jq":` + quote(program)) }

// firstLine is the number of the first line that a reply quotes from the
// result, as in "12: text" or "12- text".
var firstLine = regexp.MustCompile(`(?m)^(\d+)[:-]`)

// fill returns the arguments of a step, complete.
func (s step) fill(first, last reply) string {
	id := first.id
	if last.id != "" {
		id = last.id
	}
	args := s.args
	if !strings.Contains(args, "$last") {
		args = `"cache_id":"$id",` + args
	}
	line := "0"
	if m := firstLine.FindStringSubmatch(last.text); m != nil {
		line = before(m[1])
	}
	args = strings.NewReplacer("$id", first.id, "$last", id, "$line", line).Replace(args)
	return "{" + strings.TrimSuffix(args, ",") + "}"
}

// told reports whether the agent knows the answer once it has read replies.
// What the first one shows of a cut result is a part: an answer about all of
// it must be stated there, not happen to stand there.
func (t task) told(facts []fact, replies []reply) bool {
	for _, f := range facts {
		known := false
		for i, r := range replies {
			switch {
			case i > 0 || !t.kind.ofAll() || t.kind == structure || t.kind == fileList:
				known = known || f.in(r.text, i > 0)
			case t.stated != nil:
				known = known || f.with(t.stated).in(r.text, false) || f.heads(r.text)
			}
		}
		if !known {
			return false
		}
	}
	return len(facts) > 0
}
