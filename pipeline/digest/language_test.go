package digest

import (
	"bytes"
	"testing"

	"rlmproxy/bench/corpus"
)

// TestOwnLines: what is looked for inside of a line is not there without one of the
// words that are looked for before.
func TestOwnLines(t *testing.T) {
	texts := [][]byte{[]byte("for x in y; do\nfoo do |a|\n$a->b\nx => {\n(a) -> Result\ncase ${x}\n a ?. b?.c\n$(CC)\nx ..  y\n|> f\nguard let x\n{ get; }\nstd::a::b(\n&mut &self")}
	for _, f := range corpus.Files {
		data, err := corpus.Open(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, data[:min(len(data), 300_000)])
	}
	for _, text := range texts {
		for line := range bytes.Lines(text) {
			line = line[:min(len(line), 160)]
			for _, l := range languages {
				if l.line.inside == nil || !l.line.inside().Match(line) {
					continue
				}
				if !l.line.match(line) {
					t.Errorf("%s: not in %q", l.name, line)
				}
			}
		}
	}
}
