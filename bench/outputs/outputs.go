// Package outputs holds real results of tools that agents call: what they run,
// open and list. Tests of what agents read go over all of them; the corpus of
// the benchmarks is [rlmproxy/bench/corpus].
//
//	data/NAME.gz → Open → the bytes as the tool wrote them
//
// README.md names the source and licence of each file.
package outputs

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"strings"
)

//go:embed all:data
var data embed.FS

// Names lists the outputs, sorted.
func Names() []string {
	entries, err := data.ReadDir("data")
	if err != nil { // cannot be: it is embedded
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".gz"))
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
