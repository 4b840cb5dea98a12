package bench

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"rlmproxy/pipeline"
)

// An engine, a row of the matrix, works on documents of some kinds and sizes. Its
// yardstick is the least that could be done for the same answer, or the usual
// way to do it.
type engine struct {
	name      string
	kinds     string // names, with blanks between
	sizes     string // likewise
	yardstick string
	setup     setup
	base      func(data []byte) error
}

// bytesOf is the sizes of the matrix. The kind spec has the size of its file.
var bytesOf = map[string]int{"100KB": 100_000, "1MB": 1_000_000, "2.5MB": 2_500_000, "10MB": 10_000_000, "20MB": 20_000_000}

// each calls do for every engine, kind and size of the matrix.
func each(do func(e engine, kind, size string)) {
	for _, e := range matrix {
		for kind := range strings.FieldsSeq(e.kinds) {
			for size := range strings.FieldsSeq(e.sizes) {
				do(e, kind, size)
			}
		}
	}
}

// prepare makes the document of a row, and what runs the engine and the
// yardstick on it.
func (e engine) prepare(tb testing.TB, kind, size string) (data []byte, run, base func() error) {
	tb.Helper()
	if command, ok := commands[e.yardstick]; ok {
		if _, err := exec.LookPath(command); err != nil {
			tb.Skip(err)
		}
	}
	data, err := ofKind(kind, bytesOf[size])
	if err != nil {
		tb.Fatal(err)
	}
	run, err = e.setup(pipeline.Recognise(data, nil))
	if err != nil {
		tb.Fatal(err)
	}
	return data, run, func() error { return e.base(data) }
}

// BenchmarkEngine reports the ratio to the yardstick as x-yardstick. Bytes are
// those of the document, also where only an index of it is read.
func BenchmarkEngine(b *testing.B) {
	each(func(e engine, kind, size string) {
		b.Run("engine="+e.name+"/kind="+kind+"/size="+size+"/yardstick="+e.yardstick, func(b *testing.B) {
			data, run, base := e.prepare(b, kind, size)
			b.SetBytes(int64(len(data)))
			turns(b, "x-yardstick", run, base)
		})
	})
}

// TestEngines runs each engine and each yardstick once for each kind, on the
// smallest document of the row.
func TestEngines(t *testing.T) {
	for _, e := range matrix {
		size, _, _ := strings.Cut(e.sizes, " ")
		if size == "10MB" || size == "20MB" {
			size = "1MB"
		}
		for kind := range strings.FieldsSeq(e.kinds) {
			t.Run("engine="+e.name+"/kind="+kind+"/yardstick="+e.yardstick, func(t *testing.T) {
				_, run, base := e.prepare(t, kind, size)
				if err := errors.Join(run(), base()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
