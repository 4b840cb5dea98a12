package search

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// benchText returns n bytes of lines in the shape of a log, with English
// word lengths and a Zipf vocabulary of 20,000 words; one line in 500 holds
// "deadline exceeded". It is the same each time.
func benchText(n int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rnd, 1.3, 8, 19_999)
	vocabulary := make([]string, 20_000)
	for i := range vocabulary {
		word := make([]byte, 2+rnd.IntN(9))
		for j := range word {
			word[j] = "etaoinsrhldcumfpgwybvk"[rnd.IntN(22)]
		}
		vocabulary[i] = string(word)
	}
	var text bytes.Buffer
	for line := 0; text.Len() < n; line++ {
		fmt.Fprintf(&text, "2026-01-%02d %06d ", 1+line/9000%28, line)
		for range 8 + rnd.IntN(8) {
			text.WriteString(vocabulary[zipf.Uint64()])
			text.WriteByte(' ')
		}
		if rnd.IntN(500) == 0 {
			text.WriteString("Deadline exceeded in handler_lock_irq_save")
		}
		text.WriteByte('\n')
		if rnd.IntN(8) == 0 {
			text.WriteByte('\n')
		}
	}
	return text.Bytes()[:n]
}

const benchBytes = 10 << 20

func BenchmarkRegex(b *testing.B) {
	text := benchText(benchBytes)
	oneLine := bytes.ReplaceAll(text, newline, []byte(" "))
	for _, bb := range []struct {
		name, pattern string
		text          []byte
	}{
		{"literal", "exceeded", text},
		{"fold", "(?i)deadline", text},
		{"alternation", "Deadline|exceeded|lock_irq|panic", text},
		{"required", `\b\w+_lock_irq\w*\b`, text},
		{"unfiltered", `\d{6} [a-c]+ `, text},
		{"literal-1-line", "exceeded", oneLine},
		{"fold-1-line", "(?i)deadline", oneLine},
		{"alternation-1-line", "Deadline|exceeded|lock_irq|panic", oneLine},
		{"unfiltered-1-line", `\d{6} [a-c]+ `, oneLine},
		{"required-1-line", `\b\w+_lock_irq\w*\b`, oneLine},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.text)))
			b.ReportAllocs()
			for b.Loop() {
				m, err := Regex(b.Context(), bb.text, bb.pattern, RegexOptions{})
				if err != nil || m.Total == 0 {
					b.Fatal(m.Total, err)
				}
			}
		})
	}
}

func BenchmarkIndex(b *testing.B) {
	text := benchText(benchBytes)
	passages := Passages(text)
	ix, err := NewIndex(b.Context(), text, passages)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("passages", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			Passages(text)
		}
		b.ReportMetric(float64(len(passages)), "passages")
	})
	b.Run("build", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := NewIndex(b.Context(), text, passages); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(ix.SizeBytes()), "index-bytes")
	})
	b.Run("search", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if len(ix.Search("deadlines exceeded by the handler", 5)) == 0 {
				b.Fatal("no hits")
			}
		}
	})
}

// BenchmarkRecords asks an index of 100,000 short records for words that few,
// many and nearly all of them have.
func BenchmarkRecords(b *testing.B) {
	text := benchText(12 << 20)
	var passages []Span
	for pos := 0; len(passages) < 100_000; {
		end := lineEnd(text, pos)
		if end > pos {
			passages = append(passages, Span{pos, end})
		}
		pos = end + 1
	}
	ix, err := NewIndex(b.Context(), text, passages)
	if err != nil {
		b.Fatal(err)
	}
	counts := map[string]int{}
	for _, word := range strings.Fields(string(text)) {
		counts[word]++
	}
	common := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	for _, bb := range []struct{ name, query string }{
		{"rare", "deadlines exceeded by the handler"},
		{"common-1", common[0]},
		{"common-4", strings.Join(common[:4], " ")},
		{"common-16", strings.Join(common[:16], " ")},
	} {
		b.Run("query="+bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(ix.Search(bb.query, 5)) == 0 {
					b.Fatal("no hits")
				}
			}
		})
	}
}

func BenchmarkFuzzy(b *testing.B) {
	text := benchText(benchBytes)
	for _, bb := range []struct{ name, query string }{
		{"word", "excedeed"},
		{"phrase", "dedline exceeded in handler"},
		{"accents", "déadline excédeed"},
		{"100-runes", "dedline exceeded in handler lock irq save and then more words that are nowhere to be found in the text"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := Fuzzy(b.Context(), text, bb.query, FuzzyOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
