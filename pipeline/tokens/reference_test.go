package tokens

import (
	"flag"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dlclark/regexp2/v2"
	"github.com/tiktoken-go/tokenizer/codec"
)

var update = flag.Bool("update", false, "write the vocabulary anew")

// library is another implementation, with the same vocabulary.
var library = sync.OnceValue(codec.NewO200kBase)

// published is the expression of tiktoken's openai_public.py, run as it is written. The
// group around it keeps regexp2 from taking the library's code for it instead, which
// splits white space with several line ends otherwise.
var published = regexp2.MustCompile(`(?:`+strings.Join([]string{
	`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?`,
	`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?`,
	`\p{N}{1,3}`,
	` ?[^\s\p{L}\p{N}]+[\r\n/]*`,
	`\s*[\r\n]+`,
	`\s+(?!\S)`,
	`\s+`,
}, "|")+`)`, regexp2.None)

// pieces is the slow reference of [piece].
func pieces(tb testing.TB, b []byte) (all []string) {
	tb.Helper()
	m, err := published.FindStringMatch(string(b))
	for ; m != nil && err == nil; m, err = published.FindNextMatch(m) {
		all = append(all, m.String())
	}
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

var ranks = sync.OnceValue(func() map[string]int {
	all := map[string]int{}
	for {
		s, err := library().Decode([]uint{uint(len(all))})
		if err != nil {
			return all
		}
		all[s] = len(all)
	}
})

// parts is the slow reference of merged.
func parts(piece string) []string {
	if _, ok := ranks()[piece]; ok {
		return []string{piece}
	}
	var all []string
	for i := range len(piece) {
		all = append(all, piece[i:i+1])
	}
	for {
		best, at := len(ranks()), -1
		for i := range len(all) - 1 {
			if r, ok := ranks()[all[i]+all[i+1]]; ok && r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			return all
		}
		all[at] += all[at+1]
		all = slices.Delete(all, at+1, at+2)
	}
}

// whole is the slow reference of count.
func whole(tb testing.TB, b []byte) (n int) {
	tb.Helper()
	for _, p := range pieces(tb, b) {
		n += len(parts(p))
	}
	return n
}

// TestVocabulary: the embedded file is the library's vocabulary.
func TestVocabulary(t *testing.T) {
	var b strings.Builder
	for i := range len(ranks()) {
		s, err := library().Decode([]uint{uint(i)})
		if err != nil || len(s) > maxTokenBytes {
			t.Fatalf("%d: %q, %v", i, s, err)
		}
		b.WriteByte(byte(len(s)))
		b.WriteString(s)
	}
	if *update {
		if err := os.WriteFile("o200k_base.bin", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if b.String() != ranked {
		t.Fatal("o200k_base.bin is another: -update writes it")
	}
	last := uint32(0)
	for i := range len(ranks()) {
		s, _ := library().Decode([]uint{uint(i)})
		r := vocabulary().rank([]byte(s))
		if r == none || r <= last {
			t.Fatalf("token %d, %q, has rank %d after %d", i, s, r, last)
		}
		last = r
	}
}

// TestPieces: every text of up to six symbols, of an alphabet with one or two of each
// class.
func TestPieces(t *testing.T) {
	depth := 6
	if testing.Short() {
		depth = 4
	}
	alphabet := []string{"s", "T", "1", "'", " ", "\n", "/", "漢", "\u0301"}
	var try func(text string, depth int)
	try = func(text string, depth int) {
		checkPieces(t, []byte(text))
		if depth == 0 || t.Failed() {
			return
		}
		for _, c := range alphabet {
			try(text+c, depth-1)
		}
	}
	try("", depth-1)
	for _, s := range []string{
		"we'Re I'LL he'D it'ſ x'", "\t\u00a0\u2003x", "ǅa ʰA AʰB ٣४५६", "\r\n \r\n\tx", "\u0085\u2028x", "😀a😀😀 😀\n\n", "\xff\xfea\xe4\xb8 b", "\x00\x1cA",
		strings.Repeat("\n ", 300) + "x", strings.Repeat(" ", 300) + "x",
	} {
		checkPieces(t, []byte(s))
	}
}

func checkPieces(t *testing.T, b []byte) {
	want := pieces(t, b)
	for rest, i := b, 0; len(rest) > 0; i++ {
		n := piece(rest)
		if got := string([]rune(string(rest[:n]))); i >= len(want) || got != want[i] {
			t.Fatalf("%q: piece %d is %q, of %q", b, i, got, want)
		}
		rest = rest[n:]
	}
}

// FuzzCount: counts are those of the references.
func FuzzCount(f *testing.F) {
	for _, b := range corpus(f, 500) {
		f.Add(b)
	}
	f.Add([]byte("x" + strings.Repeat("abcdefgh", 40)))
	f.Add([]byte(strings.Repeat("A", 400)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 400 {
			return
		}
		checkPieces(t, b)
		if got, want := count(b), whole(t, b); got != want {
			t.Errorf("%q: %d tokens, want %d", b, got, want)
		}
		for p := range slices.Values(pieces(t, b)) {
			want := len(parts(p))
			if got := vocabulary().order([]byte(p)); got != want && vocabulary().rank([]byte(p)) == none {
				t.Errorf("%q in order: %d tokens, want %d", p, got, want)
			}
		}
	})
}

// TestLibrary: where white space has no two line ends apart, the library says the same.
func TestLibrary(t *testing.T) {
	for name, b := range corpus(t, 100<<10) {
		want, err := library().Count(string(b))
		if got := count(b); err != nil || got != want {
			t.Errorf("%s: %d tokens, the library %d, %v", name, got, want, err)
		}
	}
}
