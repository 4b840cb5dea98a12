package schema

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"rlmproxy/pipeline/show"
)

const (
	// maxDistinct values of a field are told apart, of maxDistinctBytes each at
	// most, and maxDistinctAll of all fields together.
	maxDistinct      = 256
	maxDistinctBytes = 60
	maxDistinctAll   = 100_000

	// fewDistinct values, of fewBytes together, are all listed; of more only
	// topDistinct, the most frequent, of dull ones only those that are frequentShare of all.
	fewDistinct   = 20
	fewBytes      = 240
	topDistinct   = 3
	fewDates      = 4 // of more dates the range says more
	frequentShare = 5
)

// A numberStats sums up numbers in one pass. Numbers beyond float64 have no
// place in a range and are left out.
type numberStats struct {
	N              int
	beyond         int // float64; they are in no sum
	Min, Max       float64
	minRaw, maxRaw []byte // as spelt
	mean, m2       float64

	last   float64
	Rising bool // each is greater than the one before: an id, or a time
}

func (s *numberStats) add(raw []byte) {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		s.beyond++
		return
	}
	if s.N == 0 || less(f, raw, s.Min, s.minRaw) {
		s.Min, s.minRaw = f, raw
	}
	if s.N == 0 || less(s.Max, s.maxRaw, f, raw) {
		s.Max, s.maxRaw = f, raw
	}
	s.Rising = s.N == 0 || s.Rising && f > s.last
	s.last = f
	// Welford, "Note on a method for calculating corrected sums of squares and
	// products", 1962: one pass, and no difference of large sums.
	s.N++
	d := f - s.mean
	s.mean += d / float64(s.N)
	s.m2 += d * (f - s.mean)
}

// less compares numbers by value, and integers that float64 takes for equal, as
// it does beyond 2^53, by their digits.
func less(a float64, aRaw []byte, b float64, bRaw []byte) bool {
	if a != b || math.Abs(a) < 1<<53 || bytes.ContainsAny(aRaw, ".eE") || bytes.ContainsAny(bRaw, ".eE") {
		return a < b
	}
	if c := cmp.Or(cmp.Compare(len(aRaw), len(bRaw)), bytes.Compare(aRaw, bRaw)); a > 0 {
		return c < 0
	} else {
		return c > 0
	}
}

// deviation is the standard deviation.
func (s *numberStats) deviation() float64 {
	if s.N < 2 {
		return 0
	}
	return math.Sqrt(s.m2 / float64(s.N))
}

// String is a range, with the mean where that may say something.
func (s *numberStats) String() string {
	if s.N == 0 {
		return ""
	}
	lo, hi := show.Clip(string(s.minRaw), 24), show.Clip(string(s.maxRaw), 24)
	if lo == hi {
		return lo
	}
	out := lo + ".." + hi
	if s.beyond > 0 {
		return out + ", and some beyond float64"
	}
	if s.N >= 10 && !s.Rising {
		mean := s.mean
		if math.Abs(mean) < 1e-9*(s.Max-s.Min) {
			mean = 0 // what rounding left of it
		}
		out += ", mean " + shortNumber(mean)
	}
	return out
}

// shortNumber has four significant digits, or all before the point.
func shortNumber(f float64) string {
	if math.Abs(f) >= 1000 && math.Abs(f) < 1e15 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 4, 64)
}

// A dateRange is the first and the last of strings that begin with a date,
// the year first: then the order of bytes is that of time.
type dateRange struct {
	n        int
	min, max []byte // as spelt
	mixed    bool   // they are written in different ways, or zones: no range
}

func (d *dateRange) add(raw []byte) {
	if !isDate(raw) {
		return
	}
	if d.n > 0 && (raw[5] != d.min[5] || zone(raw) != zone(d.min)) {
		d.mixed = true
	}
	if d.n == 0 || bytes.Compare(raw, d.min) < 0 {
		d.min = raw
	}
	if d.n == 0 || bytes.Compare(raw, d.max) > 0 {
		d.max = raw
	}
	d.n++
}

// zone is what stands behind the time of a date: Z, an offset, or nothing.
func zone(raw []byte) string {
	if len(raw) < len(`"2006-01-02T15:04Z"`) {
		return ""
	}
	if i := bytes.IndexAny(raw[11:], "Z+-"); i >= 0 {
		return string(raw[11+i : len(raw)-1])
	}
	return ""
}

// isDate reports whether a JSON string begins as 2024-01-31 or 2024/01/31 does.
func isDate(raw []byte) bool {
	if len(raw) < 12 || len(raw) > 42 || raw[5] != '-' && raw[5] != '/' || raw[8] != raw[5] {
		return false
	}
	for i, c := range raw[1:11] {
		if i != 4 && i != 7 && (c < '0' || c > '9') {
			return false
		}
	}
	return raw[11] == '"' || raw[11] == 'T' || raw[11] == ' '
}

// A distinct counts the different values of a field while they are few.
type distinct struct {
	List []valueCount // in the order of first appearance
	at   map[string]int
	many bool // more than could be told apart; list is empty
}

type valueCount struct {
	raw   []byte
	count int
}

// add counts raw; total is how many values all fields have kept.
func (d *distinct) add(raw []byte, total *int) {
	if d.many {
		return
	}
	if i, ok := d.at[string(raw)]; ok {
		d.List[i].count++
		return
	}
	if len(d.List) == maxDistinct || len(raw) > maxDistinctBytes || *total >= maxDistinctAll {
		*total -= len(d.List)
		*d = distinct{many: true}
		return
	}
	if d.at == nil {
		d.at = map[string]int{}
	}
	*total++
	d.at[string(raw)] = len(d.List)
	d.List = append(d.List, valueCount{raw, 1})
}

// Like returns a value that differs from one in the case of its letters only, or nil.
func (d *distinct) Like(raw []byte) (like []byte) {
	for _, v := range d.List {
		if bytes.Equal(v.raw, raw) {
			return nil
		}
		if bytes.EqualFold(v.raw, raw) {
			like = v.raw
		}
	}
	return like
}

// sorted is most frequent first, equals in document order.
func (d *distinct) sorted() []valueCount {
	list := slices.Clone(d.List)
	slices.SortStableFunc(list, func(a, b valueCount) int { return cmp.Compare(b.count, a.count) })
	return list
}

// Summary lists the values of a field that has count of them: all if they are
// few and short, the most frequent if there are some, nothing where hardly any
// repeats. Of dull values, numbers and hashes, a range or an example says more.
func (d *distinct) Summary(count int, dull bool) (text string, all bool) {
	rare := 2*len(d.List) > count && count > 1
	if d.many || len(d.List) == 0 || rare && dull {
		return "", false
	}
	bytes := 0
	for _, v := range d.List {
		bytes += len(v.raw) + 1
	}
	list, prefix, suffix := d.sorted(), "", ""
	if all = len(list) <= fewDistinct && bytes <= fewBytes; !all {
		if rare {
			return "", false
		}
		prefix, suffix = strconv.Itoa(len(list))+" distinct: ", " …"
		top := 0
		for top < min(len(list), topDistinct) && (!dull || list[top].count*frequentShare >= count) {
			top++
		}
		if list = list[:top]; top == 0 {
			return "", false
		}
	}
	var parts []string
	for _, v := range list {
		s := show.Clip(strings.ToValidUTF8(string(v.raw), "�"), maxDistinctBytes)
		if v.count > 1 {
			s += " ×" + show.Count(v.count)
		}
		parts = append(parts, s)
	}
	return prefix + strings.Join(parts, " ") + suffix, all
}
