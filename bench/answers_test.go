package bench

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// The answers of tasks are computed from the file by plain decoding. A file of
// the corpus that does not decode is our own mistake.

type record = map[string]any

func decode[T any](data []byte) (v T) {
	if err := json.Unmarshal(data, &v); err != nil {
		panic(err)
	}
	return v
}

func recordsOf(data []byte) []record { return decode[[]record](data) }

// rows are those of CSV or TSV, by the names in the header.
func rows(data []byte, comma rune) (header []string, out []map[string]string) {
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma = comma
	all, err := r.ReadAll()
	if err != nil {
		panic(err)
	}
	for _, cells := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			row[name] = cells[i]
		}
		out = append(out, row)
	}
	return all[0], out
}

func csvRows(data []byte) []map[string]string {
	_, out := rows(data, ',')
	return out
}

// column are the values of a column that are numbers.
func column(rows []map[string]string, name string) (out []float64) {
	for _, r := range rows {
		n, err := strconv.ParseFloat(r[name], 64)
		if err != nil {
			panic(err)
		}
		out = append(out, n)
	}
	return out
}

func countIf[T any](list []T, is func(T) bool) (n int) {
	for _, v := range list {
		if is(v) {
			n++
		}
	}
	return n
}

func only[T any](list []T, is func(T) bool) (out []T) {
	for _, v := range list {
		if is(v) {
			out = append(out, v)
		}
	}
	return out
}

// numbersOf are the values of a field that are numbers.
func numbersOf(list []record, field string) (out []float64) {
	for _, r := range list {
		if n, ok := r[field].(float64); ok {
			out = append(out, n)
		}
	}
	return out
}

func mean(ns []float64) float64 {
	sum := 0.0
	for _, n := range ns {
		sum += n
	}
	return sum / float64(len(ns))
}

// most are the n keys that occur most.
func most[T any](list []T, key func(T) string, n int) (keys []string, counts map[string]int) {
	counts = map[string]int{}
	for _, v := range list {
		counts[key(v)]++
	}
	keys = slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	return keys[:min(n, len(keys))], counts
}

// counted are facts: each key with its count.
func counted(keys []string, counts map[string]int) (out []fact) {
	for _, k := range keys {
		out = append(out, num(`(?:^|\W)`+regexp.QuoteMeta(k)+`(?:\W|$)`, counts[k]))
	}
	return out
}

// allOf are facts: each text, by itself.
func allOf(texts []string) (out []fact) {
	for _, s := range slices.Compact(slices.Sorted(slices.Values(texts))) {
		out = append(out, says(s))
	}
	return out
}

// lineMatches are the submatches of a pattern on each line that has it.
func lineMatches(data []byte, pattern string) [][]string {
	return regexp.MustCompile("(?m)"+pattern).FindAllStringSubmatch(string(data), -1)
}

func firstOf(matches [][]string) (out []string) {
	for _, m := range matches {
		out = append(out, m[len(m)-1])
	}
	return out
}

// matching answers with the number of lines that have a pattern.
func matching(pattern, label string) func([]byte) []fact {
	return func(data []byte) []fact { return []fact{num(label+`|match`, len(lineMatches(data, pattern)))} }
}

// captured answers with the last group of the first match.
func captured(pattern string) func([]byte) []fact {
	return func(data []byte) []fact { return allOf(firstOf(lineMatches(data, pattern))[:1]) }
}

// every answers with the last group of all matches.
func every(pattern string) func([]byte) []fact {
	return func(data []byte) []fact { return allOf(firstOf(lineMatches(data, pattern))) }
}

func show(v any) string { return fmt.Sprint(v) }
