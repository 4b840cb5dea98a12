package tokens

import (
	"bytes"
	"maps"
	"math"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

func TestCount(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       int
	}{
		{"empty", "", 0},
		{"word", "hello", 1},
		{"words", "hello world", 2},
		{"digits", "1234567", 3},
		{"special token is text", "<|endoftext|>", 7},
		{"special token, other", "<|endofprompt|>", 7},
		{"invalid byte", "a\xffb", 3},
		{"half a rune", "\xe4\xb8", 1},
		{"NUL", "\x00", 1},
		{"spaces", strings.Repeat(" ", 256), 2},
	} {
		if n, exact := Count([]byte(tt.text)); n != tt.want || !exact {
			t.Errorf("%s: Count = %d, %t, want %d", tt.name, n, exact, tt.want)
		}
	}
}

func TestCountsWhole(t *testing.T) {
	for name, b := range corpus(t, 100<<10) {
		for _, size := range []int{100, 1000, 20_000, exactBytes} {
			if got, want := count(b[:size]), whole(t, b[:size]); got != want {
				t.Errorf("%s: %d bytes: count %d, whole %d", name, size, got, want)
			}
		}
	}
}

// Every safe cut of every string of up to six symbols from an alphabet with
// one member of each class that the splitting expression knows.
func TestSafeCuts(t *testing.T) {
	depth := 6
	if testing.Short() {
		depth = 4
	}
	alphabet := []string{"s", "T", "1", "'", " ", "\n", "\r", "/", "é", "\u0301"}
	var try func(text string, depth int)
	try = func(text string, depth int) {
		checkCuts(t, []byte(text))
		if depth == 0 || t.Failed() {
			return
		}
		for _, c := range alphabet {
			try(text+c, depth-1)
		}
	}
	try("", depth-1)
}

func FuzzSafeCuts(f *testing.F) {
	f.Add([]byte("it's 12\n\n \t\n x/\r\nÉ'll"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 200 {
			checkCuts(t, b)
		}
	})
}

func checkCuts(t *testing.T, b []byte) {
	n := -1
	for i := 1; i < len(b); i++ {
		if !safe(b, i) {
			continue
		}
		if n < 0 {
			n = count(b)
		}
		if left, right := count(b[:i]), count(b[i:]); left+right != n {
			t.Errorf("%q|%q: %d + %d tokens, together %d", b[:i], b[i:], left, right, n)
		}
	}
}

func TestEstimateWithin2Percent(t *testing.T) {
	const size = 512 << 10
	all := corpus(t, size)
	maps.Copy(all, mixes(t, size))
	worst := 0.0
	for name, b := range all {
		for _, b := range [][]byte{b, b[:len(b)/7]} {
			n, exact := Count(b)
			want := count(b)
			off := 100 * (float64(n)/float64(want) - 1)
			worst = max(worst, math.Abs(off))
			t.Logf("%-9s %8d bytes %7d tokens, estimate %+.2f %%", name, len(b), want, off)
			if exact || math.Abs(off) > 2 {
				t.Errorf("%s: Count = %d, %t; whole %d: off by %.2f %%", name, n, exact, want, off)
			}
			if again, _ := Count(b); again != n {
				t.Errorf("%s: Count = %d, then %d", name, n, again)
			}
		}
	}
	t.Logf("worst: %.2f %%", worst)
}

// hostile are inputs that make splitting or merging slow in a tokenizer that
// is not careful.
func hostile(n int) map[string][]byte {
	rep := func(s string) []byte { return bytes.Repeat([]byte(s), n/len(s)) }
	return map[string][]byte{
		"letters":     rep("a"),
		"capitals":    rep("A"),
		"spaces":      rep(" "),
		"newlines":    rep("\n"),
		"blank lines": append(rep("\n "), 'x'),
		"blank CRLF":  append(rep("\r\n\t"), 'x'),
		"slashes":     rep("\n/"),
		"marks":       rep("\u0301"),
		"wide spaces": rep("\u2003"),
		"lines of it": append(rep("\u2003\u2003\n"), 'x'),
		"invalid":     rep("\xff"),
		"apostrophes": rep("'s"),
		"digits":      rep("1"),
		"zalgo":       rep("a\u0301\u0302"),
	}
}

// 256 KB of anything is counted in a bounded time. The bound is loose,
// for slow machines and the race detector; quadratic takes minutes.
func TestHostile(t *testing.T) {
	for name, b := range hostile(256 << 10) {
		start := time.Now()
		n, _ := Count(b)
		for size := exactBytes; size < exactBytes+600; size += 255 {
			Count(b[:size]) // samples overlap and reach the end
		}
		AtMost(b, 2000)
		p, s := Prefix(b, 2000), Suffix(b, 2000)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: %v", name, took)
		} else {
			t.Logf("%-12s %v, %d tokens, prefix %d, suffix %d", name, took, n, p, s)
		}
		if want := count(b); math.Abs(float64(n)/float64(want)-1) > 0.02 {
			t.Errorf("%s: estimate %d, whole %d", name, n, want)
		}
	}
}

func TestConcurrent(t *testing.T) {
	b := source(t, 20_000)
	want := whole(t, b)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if n, _ := Count(b); n != want {
				t.Errorf("Count = %d, want %d", n, want)
			}
		})
	}
	wg.Wait()
}

func TestAtMost(t *testing.T) {
	for name, b := range corpus(t, 80<<10) {
		n := count(b)
		for _, tt := range []struct {
			budget int
			want   bool
		}{
			{-1, false},
			{0, false},
			{n / 10, false},
			{n - 1, false},
			{n, true},
			{len(b), true},
			{math.MaxInt, true},
		} {
			// Text without safe cuts is cut at 64 KiB for AtMost: see there.
			if tt.budget == n && name == "cjk" {
				tt.budget++
			}
			if got := AtMost(b, tt.budget); got != tt.want {
				t.Errorf("%s: AtMost(%d) = %t, has %d", name, tt.budget, got, n)
			}
		}
	}
	if !AtMost(nil, 0) || AtMost(nil, -1) || AtMost([]byte("a"), 0) {
		t.Error("wrong at the ends")
	}
}

func FuzzFit(f *testing.F) {
	f.Add([]byte("hello, wörld\n  it's 12345\n"), 3)
	f.Add([]byte("\xff\xfe漢字"), 1)
	f.Add([]byte("<|endoftext|>"), 4)
	for _, b := range corpus(f, 3000) {
		f.Add(b, 500)
	}
	f.Fuzz(func(t *testing.T, b []byte, budget int) {
		if len(b) > 20_000 {
			return
		}
		checkFit(t, b, budget)
		if got, want := AtMost(b, budget), count(b) <= budget; got != want {
			t.Errorf("AtMost(%d) = %t, has %d tokens", budget, got, count(b))
		}
	})
}

func TestFit(t *testing.T) {
	all := corpus(t, 40_000)
	maps.Copy(all, hostile(10_000))
	for _, b := range all {
		for _, budget := range []int{-1, 0, 1, 2, 17, 300, 3000, 1 << 40} {
			checkFit(t, b[:min(len(b), 40_000)], budget)
		}
	}
}

// checkFit holds Prefix and Suffix to their promises.
func checkFit(t *testing.T, b []byte, budget int) {
	t.Helper()
	// Counts may dip within a word; further out than this, they only grow.
	const slack = 3
	n := Prefix(b, budget)
	if got := count(b[:n]); n > 0 && got > budget {
		t.Fatalf("Prefix(%d) = %d bytes, %d tokens", budget, n, got)
	}
	if runeStart(b, n) != n {
		t.Fatalf("Prefix(%d) = %d: not between runes", budget, n)
	}
	if n < len(b) {
		if next := nextRunes(b[n:], 2); budget > 0 && count(b[:n+next])+slack <= budget {
			t.Errorf("Prefix(%d) = %d bytes, but more has %d tokens", budget, n, count(b[:n+next]))
		}
	}
	n = Suffix(b, budget)
	tail := b[len(b)-n:]
	if got := count(tail); n > 0 && got > budget {
		t.Fatalf("Suffix(%d) = %d bytes, %d tokens", budget, n, got)
	}
	if runeStart(b, len(b)-n) != len(b)-n {
		t.Fatalf("Suffix(%d) = %d: not between runes", budget, n)
	}
	if n < len(b) && budget > 0 {
		more := b[runeStart(b, len(b)-n-1):]
		if count(more)+slack <= budget {
			t.Errorf("Suffix(%d) = %d bytes, but %d bytes have %d tokens", budget, n, len(more), count(more))
		}
	}
}

func nextRunes(b []byte, k int) int {
	n := 0
	for range k {
		_, size := utf8.DecodeRune(b[n:])
		n += size
	}
	return n
}
