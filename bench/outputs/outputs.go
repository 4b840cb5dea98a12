// Package outputs holds real results of tools that agents call: what they run,
// open and list. Tests of what agents read go over all of them; the corpus of
// the benchmarks is [rlmproxy/bench/corpus].
//
//	data/NAME.gz → Open → the bytes as the tool wrote them
//	data/whole/NAME.gz: texts that agents read from the first line to the last
//
// README.md names the source and licence of each file.
package outputs

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"path"
	"strings"
)

//go:embed all:data
var data embed.FS

// Names lists the outputs, sorted, without those of [Whole].
func Names() []string { return names("") }

// Whole lists the texts that are read whole, sorted.
func Whole() []string { return names("whole/") }

func names(folder string) (names []string) {
	entries, _ := data.ReadDir(path.Join("data", folder)) // it is embedded, so there is no error
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, folder+strings.TrimSuffix(e.Name(), ".gz"))
		}
	}
	return names
}

// Open returns an output.
func Open(name string) ([]byte, error) {
	packed, err := data.ReadFile("data/" + name + ".gz")
	if err != nil {
		return nil, fmt.Errorf("outputs: no file %q", name)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
