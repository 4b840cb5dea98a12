package judge_test

import (
	"fmt"
	"testing"

	"rlmproxy/judge"
)

// BenchmarkAsk is what judging takes beside the model, which answers at once by rule.
func BenchmarkAsk(b *testing.B) {
	items, _ := complaints(3000)
	for _, together := range []int{1, 10, 30, 60} {
		b.Run(fmt.Sprintf("items=3000/together=%d", together), func(b *testing.B) {
			b.ReportAllocs()
			var r *judge.Report
			for b.Loop() {
				m := newLocal(about)
				var err error
				if r, err = judge.New(judge.Options{Together: together}).Ask(b.Context(), "a", m, question, items, nil); err != nil || r.Judged != 3000 {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(r.Calls), "calls/op")
			b.ReportMetric(float64(r.Input+r.Output)/3000, "tokens/item")
		})
	}
	b.Run("items=3000/kept", func(b *testing.B) {
		b.ReportAllocs()
		j, m := judge.New(judge.Options{}), newLocal(about)
		for b.Loop() {
			if r, err := j.Ask(b.Context(), "a", m, question, items, nil); err != nil || r.Judged != 3000 {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkSpeaks(b *testing.B) {
	items, _ := complaints(1000)
	size := 0
	for _, item := range items {
		size += len(item)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		for _, item := range items {
			if judge.Speaks(item) {
				b.Fatal(item)
			}
		}
	}
}
