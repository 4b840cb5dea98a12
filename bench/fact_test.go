package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// near is how many bytes may lie between a value and its label.
const near = 160

// A fact is a text or a number that must be read, beside its label. How a reply
// is laid out is not its business: 1,095 is 1095, and JSON, a table and prose
// are the same. What it says is.
type fact struct {
	label *regexp.Regexp // on the same line; nil: none needed
	also  *regexp.Regexp // the same, once more
	text  string         // empty: the number
	num   float64
	other float64 // if not 0, as good: the same count with the header line
	tol   float64 // of num, relative
}

// says is a string that is an answer by itself.
func says(s string) fact { return fact{text: s} }

// labelled is a string beside a label, a regular expression.
func labelled(label, s string) fact { return fact{label: words(label), text: s} }

// num is a number beside a label, or alone in the answer to a query.
func num[N int | float64](label string, n N) fact {
	return fact{label: words(label), num: float64(n), tol: 1e-9}
}

// about is a number that may be rounded to three digits.
func about(label string, n float64) fact { return fact{label: words(label), num: n, tol: 2e-3} }

func words(label string) *regexp.Regexp { return regexp.MustCompile(`(?i)` + label) }

func (f fact) or(n int) fact {
	f.other = float64(n)
	return f
}

func (f fact) with(also *regexp.Regexp) fact {
	f.also = also
	return f
}

// in reports whether a reply tells the fact. The answer to a query may be the
// bare number: the question is its label.
func (f fact) in(reply string, query bool) bool {
	for _, text := range readings(reply) {
		for line := range strings.Lines(text) {
			if f.onLine(line) {
				return true
			}
		}
		if query && f.text == "" && f.bare(text) {
			return true
		}
		if strings.Contains(f.text, "\n") && strings.Contains(text, f.text) {
			return true
		}
	}
	return false
}

func (f fact) onLine(line string) bool {
	var at [][]int
	if f.text == "" {
		at = f.numbers(line)
	} else {
		at = occurrences(line, f.text)
	}
	for _, span := range at {
		window := line[max(0, span[0]-near):min(len(line), span[1]+near)]
		if (f.label == nil || f.label.MatchString(window)) && (f.also == nil || f.also.MatchString(window)) {
			return true
		}
	}
	return false
}

// heads reports that the number stands right before its label: 14 commits.
func (f fact) heads(text string) bool {
	if f.text != "" || f.label == nil {
		return false
	}
	for line := range strings.Lines(text) {
		for _, span := range f.numbers(line) {
			rest, ok := strings.CutPrefix(line[span[1]:], " ")
			if at := f.label.FindStringIndex(rest); ok && at != nil && at[0] == 0 {
				return true
			}
		}
	}
	return false
}

// A number is read with commas between thousands, and as if commas ended it,
// as in CSV.
var (
	grouped = regexp.MustCompile(`-?\d{1,3}(?:,\d{3})+(?:\.\d+)?`)
	plain   = regexp.MustCompile(`-?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?`)
)

// numbers are the places where line has the number of f, as a whole word.
func (f fact) numbers(line string) (at [][]int) {
	line = strings.ReplaceAll(line, "..", "  ") // 9..46.6 is a range
	for _, re := range []*regexp.Regexp{grouped, plain} {
		for _, span := range re.FindAllStringIndex(line, -1) {
			s := line[span[0]:span[1]]
			// A minus after a word or a digit is a dash: 9-46, item-3.
			if s[0] == '-' && span[0] > 0 && isWordByte(line[span[0]-1]) {
				s = s[1:]
			}
			if !whole(line, span) {
				continue
			}
			n, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
			if err == nil && f.equals(n) {
				at = append(at, span)
			}
		}
	}
	return at
}

func (f fact) equals(n float64) bool {
	if f.other != 0 && n == f.other {
		return true
	}
	return math.Abs(n-f.num) <= f.tol*math.Abs(f.num)
}

var notBody = regexp.MustCompile(`(?m)^\[[^\[\]{}"]*\]\n`) // [3 of 58 items]

// bare reports that an answer is nothing but the number.
func (f fact) bare(text string) bool {
	body := strings.Trim(notBody.ReplaceAllString(text, ""), " \n[]\"")
	n, err := strconv.ParseFloat(strings.ReplaceAll(body, ",", ""), 64)
	return err == nil && f.equals(n)
}

// occurrences are the places where line has s as whole words.
func occurrences(line, s string) (at [][]int) {
	for from := 0; ; {
		i := strings.Index(line[from:], s)
		if i < 0 {
			return at
		}
		span := []int{from + i, from + i + len(s)}
		if whole(line, span) {
			at = append(at, span)
		}
		from = span[0] + 1
	}
}

// whole reports that a span is not the part of a longer word.
func whole(line string, span []int) bool {
	first, last := line[span[0]], line[span[1]-1]
	if span[0] > 0 && isWordByte(first) && isWordByte(line[span[0]-1]) {
		return false
	}
	return span[1] == len(line) || !isWordByte(last) || !isWordByte(line[span[1]])
}

func isWordByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

var (
	brokenJSON  = regexp.MustCompile(`\n\s*("[^"\n]*":|[}\]])`)
	jsonEscaped = strings.NewReplacer(`\"`, `"`, `\n`, "\n", `\t`, "\t", `\\`, `\`)
)

// readings are the ways to read a text: as it is, the members of indented JSON
// on one line, and the strings of JSON without escapes.
func readings(text string) []string {
	all := []string{text}
	if joined := brokenJSON.ReplaceAllString(text, " $1"); joined != text {
		all = append(all, joined)
	}
	if strings.Contains(text, `\`) {
		all = append(all, jsonEscaped.Replace(text))
	}
	return all
}

func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string always encodes
	}
	return strings.TrimSpace(b.String())
}

// before is the number before a decimal one.
func before(n string) string {
	i, err := strconv.Atoi(n)
	if err != nil {
		return n
	}
	return fmt.Sprint(max(i-1, 0))
}
