// Package corpus holds real tool results: what the demo serves, and what
// benchmarks and tests shape.
//
//	data/*.gz → Open → the bytes as published
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
