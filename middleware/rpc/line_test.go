package rpc

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

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestLineReader(t *testing.T) {
	long := strings.Repeat("x", 100)
	r := newLineReader(strings.NewReader("a\r\n\n  \nb\n"+long+"\nc\n"+`{"id":"rlm-7","result":`+long+"\n"+`{"result":"`+long+`","id":9}`+"\nlast"), 50)
	var got []string
	for {
		line, err := r.next()
		var over *OversizeError
		switch {
		case errors.As(err, &over):
			got = append(got, "over:"+string(over.id()))
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

// TestLinesAreTheirOwn: no line changes when blocks that were given back are
// written to by others.
func TestLinesAreTheirOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(1, 200), rapid.IntRange(30<<10, 70<<10), rapid.IntRange(120<<10, 600<<10)), 1, 12).Draw(t, "sizes")
		var in bytes.Buffer
		for i, n := range sizes {
			in.Write(bytes.Repeat([]byte{'a' + byte(i%26)}, n))
			in.WriteByte('\n')
		}
		l := newLineReader(&pieces{t, in.Bytes()}, 1<<20)
		var lines [][]byte
		for range sizes {
			line, err := l.next()
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line)
			for class := range spare {
				if b, ok := spare[class].Get().(*[]byte); ok {
					for i := range (*b)[:cap(*b)] {
						(*b)[:cap(*b)][i] = 0
					}
					spare[class].Put(b)
				}
			}
		}
		for i, line := range lines {
			if !bytes.Equal(line, bytes.Repeat([]byte{'a' + byte(i%26)}, sizes[i])) {
				t.Fatalf("line %d of %d bytes has changed", i, sizes[i])
			}
		}
	})
}

// TestLongLinesHaveNoRoomBehind: a line that the cache keeps holds its own bytes.
func TestLongLinesHaveNoRoomBehind(t *testing.T) {
	for _, n := range []int{1, 60_000, 64 << 10, 64<<10 + 1, 200_000, 9 * (1 << 20)} {
		want := bytes.Repeat([]byte("x"), n)
		want[n/2] = 'y'
		in := append(append(bytes.Clone(want), '\n'), want...) // the last without an end
		l := newLineReader(bytes.NewReader(in), 10*(1<<20))
		for i := range 2 {
			line, err := l.next()
			if err != nil || !bytes.Equal(line, want) {
				t.Fatalf("%d bytes, line %d: %d bytes, %v", n, i, len(line), err)
			}
			if cap(line) > n+n/8+32 {
				t.Errorf("%d bytes in %d", n, cap(line))
			}
		}
	}
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

// TestByteOrderMark: some programs write one before all text, or before each message.
// Such a line was no message.
func TestByteOrderMark(t *testing.T) {
	_, p := connect(t, ConnOptions{Server: true, Options: Options{Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage("{}"), nil
	}}})
	for _, line := range []string{
		"\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":1,"method":"x"}`,
		" \xef\xbb\xbf " + `{"jsonrpc":"2.0","id":1,"method":"x"}` + "\r",
		"\xef\xbb\xbf\n" + `{"jsonrpc":"2.0","id":1,"method":"x"}`,
	} {
		p.say(t, line)
		if got, want := p.hear(t), `{"jsonrpc":"2.0","id":1,"result":{}}`; got != want {
			t.Errorf("%q: %s", line, got)
		}
	}
}
