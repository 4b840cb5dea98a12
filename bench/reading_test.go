package bench

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"rlmproxy/bench/corpus"
	"rlmproxy/bench/outputs"
	"rlmproxy/middleware"
	"rlmproxy/middleware/rpc"
	shown "rlmproxy/pipeline/show"
)

const readingGolden = "testdata/reading.golden"

// A reader is an agent that has called a tool and reads what comes.
type reader struct {
	tb     testing.TB
	conn   *rpc.Conn
	whole  []byte // the result, which the agent has not seen
	first  reply
	last   reply
	tokens int // of all replies, and of the arguments of all calls but the first
	calls  int
}

// call calls a proxy_* tool. In args, without braces, $id is the cache ID of the first
// reply, and $last that of the last.
func (r *reader) call(tool, args string) reply {
	r.tb.Helper()
	args = "{" + strings.NewReplacer("$id", r.first.id, "$last", r.last.id).Replace(args) + "}"
	r.tokens += cost(fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
	r.hear(tool, args)
	return r.last
}

func (r *reader) hear(tool, args string) {
	r.tb.Helper()
	got, err := hear(r.conn, tool, args)
	if err != nil {
		r.tb.Fatalf("%s %s: %v", tool, args, err)
	}
	if r.calls++; r.calls == 1 {
		r.first = got
	}
	r.last = got
	r.tokens += cost(got.text)
}

// An errand is what an agent wants of one result, and how it goes about it.
type errand struct {
	about string // the paragraph of docs/defaults.md
	file  string // of bench/outputs or of the corpus
	want  string // what is to be found
	// run makes the calls behind the first one, and reports whether the agent has read
	// what it wanted.
	run func(r *reader) bool
}

// errands are those of the files errands*_test.go.
func errands() []errand {
	return slices.Concat(tableErrands, recordErrands, wholeErrands, searchErrands, jqErrands, textErrands, jsonErrands)
}

// anyFile returns a file of the outputs, or of the corpus.
func anyFile(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := outputs.Open(name)
	if err != nil {
		b, err = corpus.Open(name)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// begin calls the tool whose result is data.
func begin(tb testing.TB, name string, data []byte, opts middleware.Options) *reader {
	tb.Helper()
	docs := []document{{name, data}}
	r := &reader{tb: tb, conn: dialWith(tb, tool(docs), opts), whole: data}
	r.hear(tool(docs).name(0), `{}`)
	return r
}

// runErrands is the table of all errands, and what was not found.
func runErrands(t *testing.T) (table []byte, lost []string) {
	var out bytes.Buffer
	out.WriteString(`Tokens of o200k that an agent reads and writes for one thing that it wants of one result. The proxy's own tools and
instructions, and the first call, are not counted.
inlined   the whole result, without the proxy

`)
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "tokens\tinlined\tcalls\t\x00  about: result, what is wanted")
	for _, e := range errands() {
		data := anyFile(t, e.file)
		r := begin(t, e.file, data, middleware.Options{JQ: workers()})
		if !e.run(r) {
			lost = append(lost, fmt.Sprintf("%s: %s, %s: not found; the last reply:\n%.2000s", e.about, e.file, e.want, r.last.text))
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t\x00  %s: %s, %s\n", shown.Count(r.tokens), shown.Count(cost(string(data))), r.calls, e.about, e.file, e.want)
	}
	w.Flush()
	return bytes.ReplaceAll(out.Bytes(), []byte{0}, nil), lost
}

// TestReading compares with the golden file what it costs to read results and to find
// something in them, and holds that it was found.
func TestReading(t *testing.T) {
	got, lost := runErrands(t)
	if *update {
		if err := os.WriteFile(readingGolden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(readingGolden)
	if err != nil {
		t.Fatalf("%v\ngo test ./bench -run TestReading -update writes it", err)
	}
	// Repairs of jq programs are tried within a second, which may be too short once on a
	// machine that others use; thrice is a fault.
	for n := 0; n < 2 && (len(lost) > 0 || !bytes.Equal(got, want)); n++ {
		got, lost = runErrands(t)
	}
	for _, l := range lost {
		t.Error(l)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; if that is meant: go test ./bench -run TestReading -update\ngot:\n%s", readingGolden, got)
	}
}
