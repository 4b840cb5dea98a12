// Package corpus holds real tool results: what the demo serves, and what
// benchmarks and tests shape.
//
//	data/*.gz → Open → the bytes as published, or as a tool returned them
//
// README.md names the source and licence of each file.
package corpus

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"sync"
)

//go:embed data/*.gz
var data embed.FS

// A File is one document of the corpus.
type File struct {
	Name  string // as in data, without .gz
	About string // one line
}

// Files lists the corpus, largest first.
var Files = []File{
	{"webhooks.json", "GitHub webhook events with example payloads, nested JSON"},
	{"stripe.json", "OpenAPI description of the Stripe API, deep JSON with long texts"},
	{"ec2.d.ts", "TypeScript declarations of the AWS EC2 client, source code"},
	{"zipcodes.csv", "US ZIP codes with places, CSV"},
	{"flights.json", "flights with delay and distance, uniform JSON records"},
	{"movies.json", "movies with earnings and ratings, JSON records with many nulls"},
	{"earthquakes.json", "one week of earthquakes, GeoJSON"},
	{"postgres.log", "log of a PostgreSQL server under load, with errors"},
	{"page-snapshot.txt", "the Go specification as a browser's accessibility tree, YAML in Markdown"},
	{"tree.json", "directory tree of a package, recursive JSON"},
	{"changelog.md", "changelog of RxJS, Markdown"},
	{"airports.csv", "US airports with places, CSV"},
	{"gojq-tests.yaml", "command-line tests of gojq, YAML"},
	{"gotest.jsonl", "go test -json of this project with two failures, JSON Lines"},
	{"history.diff", "git log -p of this project, unified diff"},
	{"cars.json", "cars with consumption and power, JSON records"},
	{"panic.txt", "goroutines of a Go program that panicked"},
	{"seattle-weather.csv", "four years of daily weather, CSV"},
	{"commander.md", "readme of commander, Markdown"},
	{"unemployment.tsv", "unemployment rate by US county, TSV of two columns"},
	{"go_mem.html", "the Go memory model, HTML"},
	{"tree-src.json", "directory tree of one folder of a package, recursive JSON"},
	{"us-employment.csv", "US employment by month, CSV of 24 columns"},
	{"sql.json", "answer of a SQL server's tool, JSON"},
}

var (
	mu     sync.Mutex
	opened = map[string][]byte{}
)

// Open returns a file of the corpus. The bytes are shared: do not modify them.
// The first call for a name decompresses it, in 10 to 40 ms.
func Open(name string) ([]byte, error) {
	mu.Lock()
	defer mu.Unlock()
	if b, ok := opened[name]; ok {
		return b, nil
	}
	packed, err := data.ReadFile("data/" + name + ".gz")
	if err != nil {
		return nil, fmt.Errorf("corpus: no file %q", name)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("corpus: %s: %w", name, err)
	}
	opened[name] = b
	return b, nil
}
