package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"rlmproxy/bench/corpus"
	"rlmproxy/cache"
	"rlmproxy/middleware"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/tools"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/tokens"
)

var update = flag.Bool("update", false, "rewrite the golden files of the tests that run")

const golden = "testdata/tokens.golden"

// A document is what a tool returns.
type document struct {
	name string
	text []byte
}

var (
	countsMu sync.Mutex
	counts   = map[string]tokenCount{} // by name
)

type tokenCount struct {
	n     int
	exact bool
}

// count is tokens.Count of the text, done once: all tests want it.
func (d document) count() (n int, exact bool) {
	countsMu.Lock()
	defer countsMu.Unlock()
	c, ok := counts[d.name]
	if !ok {
		c.n, c.exact = tokens.Count(d.text)
		counts[d.name] = c
	}
	return c.n, c.exact
}

// documents are the corpus and short results made of it, where there is
// nothing to win, or something to lose.
func documents(tb testing.TB) []document {
	tb.Helper()
	file := func(name string) []byte {
		b, err := corpus.Open(name)
		if err != nil {
			tb.Fatal(err)
		}
		return b
	}
	array := func(end string) func([]byte) []byte {
		return func(b []byte) []byte { return append(bytes.TrimRight(b, ", \n"), end...) }
	}
	lines := func(b []byte) []byte { return b }
	var indented bytes.Buffer
	if err := json.Indent(&indented, upTo(file("flights.json"), 1_850, "},", array("]")), "", "  "); err != nil {
		tb.Fatal(err)
	}
	docs := []document{
		{"flights, 1.9k", upTo(file("flights.json"), 1_900, "},", array("]"))},
		{"flights, 2.1k", upTo(file("flights.json"), 2_100, "},", array("]"))},
		{"flights, 2.1k+, indented", indented.Bytes()},
		{"flights, 6k", upTo(file("flights.json"), 6_000, "},", array("]"))},
		{"zipcodes, 1.9k", upTo(file("zipcodes.csv"), 1_900, "\n", lines)},
		{"zipcodes, 2.1k", upTo(file("zipcodes.csv"), 2_100, "\n", lines)},
		{"ec2.d.ts, 1.9k", upTo(file("ec2.d.ts"), 1_900, "\n", lines)},
		{"ec2.d.ts, 2.6k", upTo(file("ec2.d.ts"), 2_600, "\n", lines)},
	}
	for _, f := range corpus.Files {
		docs = append(docs, document{f.Name, file(f.Name)})
	}
	return docs
}

// upTo is the start of b, whole units that end in sep, of at most n tokens
// when it has been closed.
func upTo(b []byte, n int, sep string, closed func([]byte) []byte) []byte {
	for end := tokens.Prefix(b, n); ; end -= len(sep) {
		end = bytes.LastIndex(b[:end], []byte(sep)) + len(sep)
		if c := closed(bytes.Clone(b[:end])); end < len(sep) || tokens.AtMost(c, n) {
			return c
		}
	}
}

// A tool is a server whose every tool returns one document. It stands inside
// of our process, so that a benchmark times the proxy alone.
type tool []document

var _ middleware.Caller = tool(nil)

func (t tool) State() (upstream.State, error) { return upstream.Ready, nil }
func (t tool) Settled(context.Context)        {}
func (t tool) Prompts() []upstream.Tool       { return nil }
func (t tool) Info() *upstream.Info           { return &upstream.Info{} }

func (t tool) Notify(context.Context, string, json.RawMessage) error { return nil }

func (t tool) Tools() []upstream.Tool {
	var list []upstream.Tool
	for i := range t {
		name := t.name(i)
		list = append(list, upstream.Tool{Name: name, Raw: fmt.Appendf(nil, `{"name":%q,"inputSchema":{"type":"object"}}`, name)})
	}
	return list
}

func (t tool) name(i int) string { return fmt.Sprintf("tool_%d", i) }

func (t tool) Call(_ context.Context, r upstream.Request) (json.RawMessage, error) {
	var c struct{ Name string }
	if err := json.Unmarshal(r.Params, &c); err != nil {
		return nil, err
	}
	for i := range t {
		if t.name(i) == c.Name {
			return textResult(string(t[i].text))
		}
	}
	return nil, fmt.Errorf("no tool %q", c.Name)
}

// results are the answers of a tool, made once.
type results struct {
	tool
	raw []byte
}

func (r results) Call(context.Context, upstream.Request) (json.RawMessage, error) {
	return r.raw, nil
}

// dial returns a client of a proxy before up. Its cache ids are the same each
// time.
func dial(tb testing.TB, up middleware.Caller) *rpc.Conn {
	tb.Helper()
	return dialWith(tb, up, middleware.Options{})
}

// dialWith is dial with options, which may leave out the upstreams and the
// store.
func dialWith(tb testing.TB, up middleware.Caller, opts middleware.Options) *rpc.Conn {
	tb.Helper()
	store, err := cache.New(cache.Options{
		Key:                []byte("a key for benchmarks"),
		MaxEntriesPerAgent: 1000, // no row depends on what another one evicted
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { store.Close() })
	opts.Upstreams, opts.Store = []middleware.Upstream{{Name: "data", Conn: up, TrustHints: true}}, store
	s, err := middleware.New(opts)
	if err != nil {
		tb.Fatal(err)
	}
	nearR, farW := io.Pipe()
	farR, nearW := io.Pipe()
	ended := make(chan error)
	go func() { ended <- s.Serve(context.Background(), farR, farW) }()
	tb.Cleanup(func() {
		nearW.Close()
		<-ended
	})
	return shake(tb, nearR, nearW)
}

// A row is what one document costs an agent, in tokens of text. What was not
// done is -1.
type row struct {
	name    string
	inlined int
	exact   bool
	cut     int // of the first reply
	explore int // of proxy_explore on it, default depth
	pages   int // of proxy_filter replies that together hold all of it
}

// TestTokens compares what agents read with the golden file, and holds that no
// reply is longer than what it stands for.
func TestTokens(t *testing.T) {
	docs := documents(t)
	conn := dial(t, tool(docs))
	var rows []row
	for i, d := range docs {
		r, err := measure(conn, tool(docs).name(i), d)
		if err != nil {
			t.Fatalf("%s: %v", d.name, err)
		}
		if r.cut > r.inlined {
			t.Errorf("%s: %d tokens became %d", d.name, r.inlined, r.cut)
		}
		rows = append(rows, r)
	}
	own, err := ownTokens(conn)
	if err != nil {
		t.Fatal(err)
	}
	got := table(rows, own)
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v\ngo test ./bench -run TestTokens -update writes it", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; if that is meant: go test ./bench -run TestTokens -update\ngot:\n%s\nwant:\n%s", golden, got, want)
	}
}

func measure(conn *rpc.Conn, name string, d document) (row, error) {
	r := row{name: d.name, explore: -1, pages: -1}
	r.inlined, r.exact = d.count()
	first, err := text(conn, name, `{}`)
	if err != nil {
		return r, err
	}
	r.cut, _ = tokens.Count([]byte(first.text))
	if first.id == "" {
		return r, nil
	}
	outline, err := text(conn, "proxy_explore", fmt.Sprintf(`{"cache_id":%q}`, first.id))
	if err != nil {
		return r, err
	}
	r.explore, _ = tokens.Count([]byte(outline.text))
	if r.inlined > 10_000 {
		return r, nil
	}
	r.pages, err = readAll(conn, first.id, pipeline.Recognise(d.text, nil).Items, r.inlined)
	return r, err
}

// readAll pages through a result as an agent does that wants all of it, and
// has read in the first line how many items and tokens it has. A page that was
// cut is asked for again with half the items. It returns the tokens of all
// replies, or -1 when one item is too long for a page.
func readAll(conn *rpc.Conn, id string, items, inlined int) (int, error) {
	const page = 1_800 // tokens, under the limit of 2000
	limit := max(1, items*page/inlined)
	sum := 0
	for offset := 0; offset < items; {
		a, err := text(conn, "proxy_filter", fmt.Sprintf(`{"cache_id":%q,"offset":%d,"limit":%d}`, id, offset, limit))
		if err != nil {
			return 0, err
		}
		n, _ := tokens.Count([]byte(a.text))
		sum += n
		switch {
		case !strings.HasPrefix(a.text, "[cut:"):
			offset += limit
		case limit == 1:
			return -1, nil
		default:
			limit /= 2
		}
	}
	return sum, nil
}

func text(conn *rpc.Conn, tool, args string) (answer, error) {
	raw, err := call(conn, tool, args)
	if err != nil {
		return answer{}, err
	}
	return read(raw)
}

// ownTokens counts what the proxy adds to each conversation: the definitions
// of its tools, and its instructions.
func ownTokens(conn *rpc.Conn) (int, error) {
	raw, err := conn.Call(context.Background(), "tools/list", json.RawMessage(`{}`), nil)
	if err != nil {
		return 0, err
	}
	var list struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(raw, &list); err != nil {
		return 0, err
	}
	sum, _ := tokens.Count([]byte(tools.Instructions))
	for _, t := range list.Tools {
		if bytes.HasPrefix(t, []byte(`{"name":"proxy_`)) {
			n, _ := tokens.Count(t)
			sum += n
		}
	}
	return sum, nil
}

// table prints the golden file.
func table(rows []row, own int) []byte {
	var out bytes.Buffer
	out.WriteString(`Tokens of o200k; ~ is an estimate. A conversation with this one result:
inlined  without the proxy
cut      the first reply
explore  proxy_explore on it
saved    inlined - cut - explore - the proxy's own tools and instructions
pages    proxy_filter replies that hold all of it, for results under 10,000 tokens
worst    the same as saved, when the agent explores and then reads all pages

`)
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "result\tinlined\tcut\texplore\tsaved\t%\tpages\tworst\t")
	num := func(n int) string {
		if n < 0 {
			return "-"
		}
		return strconv.Itoa(n)
	}
	for _, r := range rows {
		inlined := num(r.inlined)
		if !r.exact {
			inlined = "~" + inlined
		}
		saved := r.inlined - r.cut - max(0, r.explore) - own
		worst := "-"
		if r.inlined <= 10_000 && (r.pages >= 0 || r.explore < 0) {
			worst = strconv.Itoa(saved - max(0, r.pages))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%.1f\t%s\t%s\t\n", r.name, inlined, num(r.cut), num(r.explore),
			saved, 100*float64(saved)/float64(r.inlined), num(r.pages), worst)
	}
	fmt.Fprintf(w, "own tools and instructions\t0\t%d\t-\t%d\t-\t-\t-\t\n", own, -own)
	w.Flush()
	return out.Bytes()
}

// BenchmarkTokens is the call that cuts: a result that the proxy has never
// seen, from the server's bytes to the reply in the client's hands.
func BenchmarkTokens(b *testing.B) {
	for _, d := range documents(b) {
		b.Run("file="+strings.ReplaceAll(d.name, ", ", "-"), func(b *testing.B) {
			raw, err := textResult(string(d.text))
			if err != nil {
				b.Fatal(err)
			}
			up := results{tool{d}, raw}
			conn := dial(b, up)
			in, _ := tokens.Count(d.text)
			b.SetBytes(int64(len(d.text)))
			b.ReportAllocs()
			a, err := text(conn, up.name(0), `{"call":0}`)
			if err != nil {
				b.Fatal(err)
			}
			out, _ := tokens.Count([]byte(a.text))
			calls := 0
			for b.Loop() {
				calls++ // new arguments: nothing is kept for them
				if _, err := call(conn, up.name(0), fmt.Sprintf(`{"call":%d}`, calls)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(in), "in-tokens")
			b.ReportMetric(float64(out), "out-tokens")
		})
	}
}
