package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"rlmproxy/jsonscan"
)

func TestSplit(t *testing.T) {
	tests := []struct {
		line string
		want Message
	}{
		{`{"jsonrpc":"2.0","id":1,"result":{"a":1.0}}`, Message{ID: []byte(`1`), Result: []byte(`{"a":1.0}`)}},
		{`{"result":{"n":9007199254740993},"id":"x","jsonrpc":"2.0"}`, Message{ID: []byte(`"x"`), Result: []byte(`{"n":9007199254740993}`)}},
		{` { "method" : "m" , "params" : [ ] } `, Message{Method: "m", Params: []byte(`[ ]`)}},
		{`{"\u0069d":7,"method":"a\/b"}`, Message{ID: []byte(`7`), Method: "a/b"}},
		{`{"id":1,"id":2}`, Message{ID: []byte(`2`)}},
		{`{"error":{"code":-1},"id":null}`, Message{ID: []byte(`null`), Error: []byte(`{"code":-1}`)}},
		{`{}`, Message{}},
	}
	for _, tt := range tests {
		got, err := Split([]byte(tt.line))
		if err != nil {
			t.Errorf("Split(%s): %v", tt.line, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Split(%s): -want +got\n%s", tt.line, diff)
		}
	}
}

func TestSplitRefuses(t *testing.T) {
	tests := []string{
		``, `[]`, `"x"`, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":01}`, `{"a":1} x`, `{"a":"\x"}`, `{"a":"` + "\x01" + `"}`,
		`{"a":[1,]}`, `{"a":tru}`, `{"a":1.}`, `{"a":-}`, `{"a":1e}`, `{"method":1}`, `{a:1}`, `{"a":[}`, `{"a":{]}`, `{"a":"\u12"}`,
	}
	for _, line := range tests {
		if m, err := Split([]byte(line)); err == nil {
			t.Errorf("Split(%q) = %+v, want an error", line, m)
		}
	}
	deep := `{"result":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`
	if _, err := Split([]byte(deep)); !errors.Is(err, jsonscan.ErrTooDeep) {
		t.Errorf("100,000 levels: %v, want ErrTooDeep", err)
	}
}

// FuzzSplit compares the scanner with encoding/json: both accept the same
// lines, and what Split slices out decodes to the same values.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"a":[1,2.5e-3,"\u00e9",null,true,false,{}]}}`, `{"id":`, `{"a":"\ud800"}`,
		`{"params":{"x":[[[]]]},"method":"tools/call"}`, "{\"a\":\"\xff\"}", `{"id":-0}`, `{"ID":1}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := Split(line)
		if errors.Is(err, jsonscan.ErrTooDeep) {
			return
		}
		trimmed := bytes.TrimLeft(line, " \t\r\n")
		object := json.Valid(line) && len(trimmed) > 0 && trimmed[0] == '{'
		if err == nil && !object {
			t.Fatalf("Split accepts %q", line)
		}
		if !object {
			return
		}
		var ref map[string]json.RawMessage
		if json.Unmarshal(line, &ref) != nil {
			return
		}
		if err != nil {
			if raw := ref["method"]; raw != nil && raw[0] != '"' {
				return // valid JSON, but no message
			}
			t.Fatalf("Split(%q): %v", line, err)
		}
		for key, got := range map[string]json.RawMessage{"id": m.ID, "params": m.Params, "result": m.Result, "error": m.Error} {
			if want := ref[key]; !bytes.Equal(got, want) {
				t.Fatalf("%s of %q = %q, want %q", key, line, got, want)
			}
		}
	})
}

func TestLineReader(t *testing.T) {
	long := strings.Repeat("x", 100)
	r := newLineReader(strings.NewReader("a\r\n\n  \nb\n"+long+"\nc\n"+`{"id":"rlm-7","result":`+long+"\n"+`{"result":"`+long+`","id":9}`+"\nlast"), 50)
	var got []string
	for {
		line, err := r.next()
		var over *OversizeError
		switch {
		case errors.As(err, &over):
			got = append(got, "over:"+string(guessID(over.Head, over.Tail)))
			continue
		case err == io.EOF:
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, string(line))
			continue
		}
		break
	}
	want := []string{"a", "b", "over:", "c", `over:"rlm-7"`, "over:9", "last"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// peer is the far end of a Conn under test.
type peer struct {
	*lineReader
	w io.WriteCloser
}

func (p peer) say(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(p.w, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (p peer) hear(t *testing.T) string {
	t.Helper()
	line, err := p.next()
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

func connect(t *testing.T, opts Options) (*Conn, peer) {
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	c := NewConn(r1, w2, opts)
	t.Cleanup(func() {
		c.Close()
		<-c.Done()
	})
	return c, peer{newLineReader(r2, 1<<20), w1}
}

func TestCallIsRaw(t *testing.T) {
	var junk []string
	c, p := connect(t, Options{Junk: func(line []byte, _ error) { junk = append(junk, string(line)) }})
	result := `{"z":1,"a":1.0,"n":9007199254740993,"u":"é\u00e9","future":[{"x":null}]}`
	type reply struct {
		raw json.RawMessage
		err error
	}
	replies := make(chan reply)
	go func() {
		raw, err := c.Call(t.Context(), "tools/call", json.RawMessage(`{"big":123456789012345678901}`))
		replies <- reply{raw, err}
	}()
	if got, want := p.hear(t), `{"jsonrpc":"2.0","id":"rlm-1","method":"tools/call","params":{"big":123456789012345678901}}`; got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
	p.say(t, "Server started on stdio")
	p.say(t, `{"level":"info"}`)
	p.say(t, `{"result":`+result+`,"jsonrpc":"2.0","id":"rlm-1"}`)
	got := <-replies
	if got.err != nil || string(got.raw) != result {
		t.Errorf("Call = %s, %v, want the bytes sent", got.raw, got.err)
	}
	if want := []string{"Server started on stdio", `{"level":"info"}`}; !cmp.Equal(junk, want) {
		t.Errorf("junk %q, want %q", junk, want)
	}
}

func TestCallErrors(t *testing.T) {
	tests := []struct {
		name, answer, want string
	}{
		{"error object", `{"id":"rlm-1","error":{"code":-32602,"message":"no","data":{"n":9007199254740993}}}`, "no"},
		{"neither", `{"id":"rlm-1"}`, "neither result nor error"},
		{"oversized, id last", `{"result":"` + strings.Repeat("x", 5000) + `","id":"rlm-1"}`, "over the limit"},
		{"oversized, no id", `{"result":"` + strings.Repeat("x", 5000), "over the limit"},
		{"too deep", `{"id":"rlm-1","result":` + strings.Repeat("[", 1900) + strings.Repeat("]", 1900) + `}`, "nested deeper"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, p := connect(t, Options{MaxLineBytes: 4500})
			errs := make(chan error)
			go func() { _, err := c.Call(t.Context(), "m", nil); errs <- err }()
			p.hear(t)
			p.say(t, tt.answer)
			if err := <-errs; err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Call: %v, want %q", err, tt.want)
			}
		})
	}
}

func TestCallCancelled(t *testing.T) {
	c, p := connect(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error)
	go func() { _, err := c.Call(ctx, "m", nil); errs <- err }()
	p.hear(t)
	cancel()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("Call: %v, want context.Canceled", err)
	}
	if got := p.hear(t); !strings.Contains(got, `"method":"notifications/cancelled","params":{"requestId":"rlm-1"`) {
		t.Errorf("sent %s, want notifications/cancelled", got)
	}
	p.say(t, `{"id":"rlm-1","result":{}}`) // too late, dropped
	p.w.Close()
	<-c.Done()
	if _, err := c.Call(t.Context(), "m", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Call after the end: %v, want ErrClosed", err)
	}
}

func TestCallFailsWhenPeerEnds(t *testing.T) {
	c, p := connect(t, Options{})
	errs := make(chan error)
	go func() { _, err := c.Call(t.Context(), "m", nil); errs <- err }()
	p.hear(t)
	p.w.Close()
	if err := <-errs; !errors.Is(err, ErrClosed) {
		t.Errorf("Call: %v, want ErrClosed", err)
	}
}

func TestRefuse(t *testing.T) {
	_, p := connect(t, Options{Refuse: true, MaxLineBytes: 2048})
	tests := []struct{ line, want string }{
		{`hello`, `{"error":{"code":-32700,"message":"not JSON: want an object at byte 0"},"id":null,"jsonrpc":"2.0"}`},
		{`{"jsonrpc":"1.0","id":5,"method":"x"}`, `"id":5`},
		{`{"jsonrpc":"2.0","id":1.5,"method":"x"}`, `"id":1.5`},
		{`{"jsonrpc":"2.0","id":99999999999999999999,"method":"x"}`, `"id":99999999999999999999`},
		{`{"jsonrpc":"2.0","id":{},"method":"x"}`, `"id":{}`},
		{`{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 9000) + `","id":"last"}`, `"id":"last"`},
		{`{"jsonrpc":"2.0","id":6,"method":"` + strings.Repeat("x", 3000) + `"}`, `"id":6`},
	}
	for _, tt := range tests {
		p.say(t, tt.line)
		if got := p.hear(t); !strings.Contains(got, tt.want) || !strings.Contains(got, `"error"`) {
			t.Errorf("answer to %.40s: %s, want %s", tt.line, got, tt.want)
		}
	}
}

// TestPeerReadsNothing: requests of a peer that reads no answers once piled up
// without bound, a goroutine each.
func TestPeerReadsNothing(t *testing.T) {
	refused := make(chan error, 10)
	c, p := connect(t, Options{Junk: func(_ []byte, err error) { refused <- err }})
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	if _, err := server.Connect(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	for i := range maxOpen + 3 {
		p.say(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i))
	}
	for range 3 {
		if err := <-refused; !strings.Contains(err.Error(), "wait for their answers") {
			t.Error(err)
		}
	}
	for range maxOpen {
		p.hear(t)
	}
	p.say(t, `{"jsonrpc":"2.0","id":"again","method":"ping"}`)
	if got := p.hear(t); !strings.Contains(got, `"again"`) {
		t.Errorf("after the answers were read: %s", got)
	}
}

func TestWriteSplices(t *testing.T) {
	c, p := connect(t, Options{})
	id, _ := jsonrpc.MakeID("q\"1")
	raw := "{ \"z\" : 1.0,\n\"a\":9007199254740993 }"
	res := &RawResult{Bytes: json.RawMessage(raw), Splice: c.Splices()}
	b, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	go c.Write(t.Context(), &jsonrpc.Response{ID: id, Result: b})
	if got, want := p.hear(t), `{"jsonrpc":"2.0","id":"q\"1","result":{ "z" : 1.0, "a":9007199254740993 }}`; got != want {
		t.Errorf("wrote %s\nwant  %s", got, want)
	}
	// A ticket works once, and a result that looks like one is only data.
	forged := &jsonrpc.Response{ID: id, Result: b}
	go c.Write(t.Context(), forged)
	if got := p.hear(t); !strings.Contains(got, ticketPrefix) {
		t.Errorf("wrote %s, want the ticket's own text", got)
	}
}

func TestRawResultAnnotated(t *testing.T) {
	tests := []struct{ raw, want string }{
		{`{"content":[],"n":1.0}`, `{"content":[],"n":1.0,"_meta":{"k":"v"},"resultType":"complete"}`},
		{`{"_meta":{"a":1.0},"x":2}`, `{"_meta":{"k":"v","a":1.0},"x":2,"resultType":"complete"}`},
		{`{"_meta":{"k":"own"},"resultType":"input_required"}`, `{"_meta":{"k":"own"},"resultType":"input_required"}`},
		{`{}`, `{"_meta":{"k":"v"},"resultType":"complete"}`},
		{`{"_meta":{}}`, `{"_meta":{"k":"v"},"resultType":"complete"}`},
	}
	for _, tt := range tests {
		r := &RawResult{Bytes: json.RawMessage(tt.raw)}
		r.SetMeta(map[string]any{"k": "v"})
		got, err := json.Marshal(r)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s → %s, %v\nwant %s", tt.raw, got, err, tt.want)
		}
	}
}

func TestSDKSessionOverConn(t *testing.T) {
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ss, err := server.Connect(ctx, NewConn(r1, w2, Options{Refuse: true}), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ss.Close()
	conn := NewConn(r2, w1, Options{})
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(ctx, conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()
	if err := cs.Ping(ctx, nil); err != nil && cs.InitializeResult().ProtocolVersion < "2026-07-28" {
		t.Error(err)
	}
	raw, err := conn.Call(ctx, "nonsense/method", nil)
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) {
		t.Errorf("unknown method: %s, %v, want a JSON-RPC error", raw, err)
	}
}

func BenchmarkSplit(b *testing.B) {
	var records []map[string]any
	for i := range 5000 {
		records = append(records, map[string]any{"id": i, "name": "record of some length", "tags": []string{"a", "b"}, "score": 1.5})
	}
	result, _ := json.Marshal(records)
	line := append(append([]byte(`{"jsonrpc":"2.0","id":1,"result":`), result...), '}')
	b.Run("Split", func(b *testing.B) {
		b.SetBytes(int64(len(line)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Split(line); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("json.Valid", func(b *testing.B) {
		b.SetBytes(int64(len(line)))
		for b.Loop() {
			if !json.Valid(line) {
				b.Fatal("invalid")
			}
		}
	})
}

// TestLinesInPieces: however a stream is cut into reads, its lines are the same.
func TestLinesInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		max := rapid.SampledFrom([]int{10, 70_000, 200_000, 1 << 30}).Draw(t, "max")
		var text []byte
		for range rapid.IntRange(0, 6).Draw(t, "lines") {
			n := rapid.SampledFrom([]int{0, 1, 9, 10, 32_000, 65_535, 65_536, 65_537, 131_072, 300_000}).Draw(t, "bytes")
			text = append(append(text, bytes.Repeat([]byte{byte('a' + len(text)%26)}, n)...), '\n')
		}
		if rapid.Bool().Draw(t, "open") && len(text) > 0 {
			text = text[:len(text)-1]
		}
		var want []string
		for line := range bytes.Lines(text) {
			switch trimmed := bytes.TrimSpace(line); {
			case len(line) > max:
				want = append(want, fmt.Sprintf("over: %d bytes, %.20s… …%.20s", len(line), line, trimmed[max0(len(trimmed)-10):]))
			case len(trimmed) > 0:
				want = append(want, string(trimmed))
			}
		}
		r := newLineReader(&pieces{t, text}, int64(max))
		var got []string
		for {
			line, err := r.next()
			var over *OversizeError
			if errors.As(err, &over) {
				tail := bytes.TrimSpace(over.Tail)
				got = append(got, fmt.Sprintf("over: %d bytes, %.20s… …%.20s", over.Size, over.Head, tail[max0(len(tail)-10):]))
				continue
			}
			if err != nil {
				break
			}
			if cap(line) > len(line)+len(line)/4+64 {
				t.Fatalf("a line of %d bytes holds %d", len(line), cap(line))
			}
			got = append(got, string(line))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d lines, want %d: %.300q, want %.300q", len(got), len(want), got, want)
		}
	})
}

func max0(n int) int { return max(n, 0) }

// pieces is read in parts of drawn sizes.
type pieces struct {
	t    *rapid.T
	rest []byte
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := min(len(b), len(p.rest), rapid.SampledFrom([]int{0, 1, 100, 4096, 65_536, 1 << 20}).Draw(p.t, "read"))
	copy(b, p.rest[:n])
	p.rest = p.rest[n:]
	return n, nil
}
