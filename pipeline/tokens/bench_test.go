package tokens

import (
	"fmt"
	"testing"
)

// BenchmarkCount's 64 KiB are exact, the other sizes estimates.
func BenchmarkCount(b *testing.B) {
	for _, size := range []int{1 << 10, exactBytes, 1 << 20, 10 << 20} {
		for _, kind := range []string{"json", "source", "base64"} {
			if kind == "source" && size > 1<<20 {
				continue
			}
			text := corpus(b, size)[kind][:size]
			b.Run(fmt.Sprintf("kind=%s/size=%d", kind, size), func(b *testing.B) {
				b.SetBytes(int64(size))
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					n, _ = Count(text)
				}
				b.ReportMetric(float64(n), "tokens")
			})
		}
	}
}

func BenchmarkCountHostile(b *testing.B) {
	for name, text := range hostile(exactBytes) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Count(text)
			}
		})
	}
}

func BenchmarkFit(b *testing.B) {
	text := corpus(b, 1<<20)["json"]
	b.Run("prefix", func(b *testing.B) {
		for b.Loop() {
			Prefix(text, 2000)
		}
	})
	b.Run("suffix", func(b *testing.B) {
		for b.Loop() {
			Suffix(text, 2000)
		}
	})
	b.Run("atmost", func(b *testing.B) {
		for b.Loop() {
			AtMost(text, 10_000)
		}
	})
}
