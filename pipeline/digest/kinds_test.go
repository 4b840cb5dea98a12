package digest

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"rlmproxy/pipeline/digest/digesttest"
)

func TestKind(t *testing.T) {
	for _, tt := range digesttest.Samples {
		if got := Kind([]byte(tt.Text)); got != tt.Kind {
			t.Errorf("%s: %s, want %s:\n%.200s", tt.Name, got, tt.Kind, tt.Text)
		}
		if crlf := strings.ReplaceAll(tt.Text, "\n", "\r\n"); Kind([]byte(crlf)) != tt.Kind {
			t.Errorf("%s, CRLF: %s, want %s", tt.Name, Kind([]byte(crlf)), tt.Kind)
		}
	}
	if len(digesttest.Samples) < 60 {
		t.Errorf("only %d samples", len(digesttest.Samples))
	}
}

func TestClass(t *testing.T) {
	for in, want := range map[string]string{
		"# words\na = 1\n#b = 2\nc = 3\n": "config", "a: 1\nb: 2\n": "config", "# Title\n\n- one\n- two\n": "markdown", "a = 1\nb = 2\nc = 3\n": "",
	} {
		if got := Class([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// FuzzKinds has each kind recognise and read any text, whatever its kind is. The
// lines of the digest are lines of the text.
func FuzzKinds(f *testing.F) {
	for _, s := range digesttest.Samples {
		f.Add([]byte(s.Text))
		f.Add([]byte(strings.Repeat(s.Text, 5)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 50_000 {
			return
		}
		slow := time.AfterFunc(10*time.Second, func() { panic("more than 10 s") })
		defer slow.Stop()
		lines := bytes.SplitAfter(data, []byte("\n"))
		check := func(kind string, l Line) {
			if l.N < 0 || l.N >= len(lines) || !bytes.Contains(lines[l.N], l.Text) {
				t.Fatalf("%s: line %d is not %q", kind, l.N, l.Text)
			}
		}
		for _, k := range kinds {
			k.is(newSample(data))
			if k.next != nil {
				for _, line := range lines {
					k.next(bytes.TrimRight(line, "\n"))
				}
			}
			if k.read == nil {
				continue
			}
			d := &Digest{Kind: k.name}
			k.read(d, &reader{context.Background(), data})
			for _, l := range d.Highlights {
				check(k.name, l)
			}
			for _, p := range d.Parts {
				for _, r := range p.Rows {
					if r.words == "" {
						check(k.name, r.Line)
					}
				}
				if p.Total < len(p.Rows) || p.Words == "" && p.Title == "" {
					t.Fatalf("%s: %+v", k.name, p)
				}
			}
		}
	})
}
