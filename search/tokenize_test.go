package search

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestTokenize(t *testing.T) {
	tests := []struct {
		text string
		want string // tokens, separated by blanks
	}{
		{"", ""},
		{" ,.- \xff\x00", ""},
		{"Running dogs ran.", "run dog ran"},
		{"getUserName", "get user name getusernam"},
		{"HTTPServer2", "http server 2 httpserver2"},
		{"max_total_agents", "max total agent max_total_agents"},
		{"__init__", "init"},
		{"see a/b/c.go.", "see a b c go a/b/c.go"},
		{"2024-01-31 3.14", "2024 01 31 2024-01-31 3 14 3.14"},
		{"end. Next", "end next"},
		{"Größe ÉTÉ", "größe été"},
		{"北京大学", "北 北京 京 京大 大 大学 学"},
		{"Go语言v2", "go 语 语言 言 v 2 v2"},
		{"한국", "한 한국 국"},
		{strings.Repeat("x", 100), strings.Repeat("x", 64)},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(strings.Fields(tt.want), append([]string{}, Tokenize(tt.text)...)); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", tt.text, diff)
		}
	}
}

func TestStem(t *testing.T) {
	tests := []struct{ word, want string }{
		// From the sample on Snowball's page of the algorithm.
		{"consigned", "consign"}, {"consistency", "consist"}, {"consolation", "consol"}, {"consolingly", "consol"},
		{"conspirators", "conspir"}, {"knackeries", "knackeri"}, {"kneeled", "kneel"}, {"knightly", "knight"}, {"knives", "knive"},
		// What Porter's first algorithm has otherwise.
		{"general", "general"}, {"generate", "generat"}, {"generic", "generic"}, {"news", "news"}, {"community", "communiti"},
		{"correctly", "correct"}, {"hourly", "hour"}, {"exceeded", "exceed"}, {"statuses", "status"}, {"deployments", "deploy"},
		// Ours.
		{"vpcs", "vpc"}, {"https", "http"}, {"dns", "dns"}, {"css", "css"}, {"xxss", "xxss"},
		{"is", "is"}, {"ies", "ie"}, {"a1s", "a1s"}, {"étés", "étés"},
	}
	for _, tt := range tests {
		if got := string(stem([]byte(tt.word))); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.word, got, tt.want)
		}
	}
}

// TestStemsSeen: whatever other words were stemmed before or meanwhile, a word's
// stem is its own.
func TestStemsSeen(t *testing.T) {
	var all sync.WaitGroup
	for seed := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(seed)))
			for range 20_000 {
				word := make([]byte, 3+r.IntN(4))
				for i := range word {
					word[i] = "aeinsty"[r.IntN(7)]
				}
				if got, want := string(stem(bytes.Clone(word))), snowball(string(word)); got != want || got == "" {
					t.Errorf("%s: %q, want %q", word, got, want)
					return
				}
			}
		})
	}
	all.Wait()
}

func FuzzTokenize(f *testing.F) {
	f.Add("getUserName a/b.go 北京 \xff __x__ ies eeding")
	f.Fuzz(func(t *testing.T, text string) {
		for _, token := range Tokenize(text) {
			// Lower case may take a byte or two more than upper.
			if token == "" || len(token) > 2*maxTokenBytes || !utf8.ValidString(token) {
				t.Fatalf("%q: token %q", text, token)
			}
		}
	})
}

// slowChunk is nextChunk without its tables.
func slowChunk(text []byte, pos int) (start, end int) {
	for pos < len(text) {
		r, size := decode(text, pos)
		if isWord(r) || r == '_' {
			break
		}
		pos += size
	}
	start, end = pos, pos
	unspaced := false
	for end < len(text) && end-start < maxChunkBytes {
		r, size := decode(text, end)
		joint := r < utf8.RuneSelf && isJoint(byte(r))
		after := rune(0)
		if joint && end+1 < len(text) {
			after, _ = decode(text, end+1)
		}
		goesOn := isWord(r) && (end == start || unspaced == isUnspaced(r)) || r == '_' && !unspaced || joint && !unspaced && isWord(after) && !isUnspaced(after)
		if !goesOn {
			break
		}
		if end == start {
			unspaced = isUnspaced(r)
		}
		end += size
	}
	return start, end
}

func FuzzChunk(f *testing.F) {
	for _, s := range []string{"a b", "_a.b/c-d.", "日本語abc", "a日", "a.日", "é_x", "\xff a\x80b", strings.Repeat("x", 3000), strings.Repeat("é", 2000), "...", "a..b", "_", "1.5-2_3"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for pos := 0; pos < len(text); {
			start, end := nextChunk(text, pos)
			slowStart, slowEnd := slowChunk(text, pos)
			if start != slowStart || end != slowEnd {
				t.Fatalf("%q from %d: [%d,%d), want [%d,%d)", text, pos, start, end, slowStart, slowEnd)
			}
			if start == end {
				break
			}
			pos = end
		}
	})
}

func TestTermTable(t *testing.T) {
	var table termTable
	empty := table.complete()
	if _, ok := empty.find([]byte("x")); ok {
		t.Error("an empty set has a term")
	}
	want := map[string]uint32{}
	for i := range 5000 {
		key := fmt.Sprint(i * i % 1999)
		n, added := table.add([]byte(key))
		was, known := want[key]
		if added == known || known && n != was || !known && int(n) != len(want) {
			t.Fatalf("%s is %d, added %v; was %d, %v", key, n, added, was, known)
		}
		want[key] = n
	}
	set := table.complete()
	for key, n := range want {
		if got, ok := set.find([]byte(key)); !ok || got != n || string(term(set.keys, set.ends, n)) != key {
			t.Errorf("%s is %d, %v", key, got, ok)
		}
	}
	if _, ok := set.find([]byte("-1")); ok || table.len() != len(want) {
		t.Errorf("%d terms, want %d", table.len(), len(want))
	}
}

// TestPieceBreak compares all that three characters can be.
func TestPieceBreak(t *testing.T) {
	parts := []string{"a", "z", "A", "Z", "0", "9", "_", ".", "é", "É", "日", "٣", "\u0301", ""}
	for _, before := range parts[:len(parts)-1] {
		for _, after := range parts[:len(parts)-1] {
			for _, next := range parts {
				s := []byte(before + after + next)
				if got, want := pieceBreak(s, len(before)), wordBreak(s, len(before)); got != want {
					t.Errorf("%s|%s%s: %v, want %v", before, after, next, got, want)
				}
			}
		}
	}
}
