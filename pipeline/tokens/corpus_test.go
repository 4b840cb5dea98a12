package tokens

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"go/build"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// corpus returns n bytes or a little more of each kind of text, the same in
// each run.
func corpus(tb testing.TB, n int) map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	fill := func(line func(i int) string) []byte {
		var b bytes.Buffer
		for i := 0; b.Len() < n; i++ {
			b.WriteString(line(i))
		}
		return b.Bytes()
	}
	words := strings.Fields("payment order customer the was returned shipped Zürich quantity of invoice already pending warehouse and not retry")
	prose := func(k int) string {
		s := make([]string, k)
		for i := range s {
			s[i] = words[r.IntN(len(words))]
		}
		return strings.Join(s, " ")
	}
	levels := []string{"INFO", "WARN", "ERROR", "DEBUG"}
	han := []rune("的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经")
	random := make([]byte, n)
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	return map[string][]byte{
		"json": fill(func(i int) string {
			return fmt.Sprintf(`{"id":%d,"name":%q,"price":%.2f,"tags":[%q,%q],"active":%t},`,
				i, prose(1+r.IntN(9)), r.Float64()*1e3, prose(1), prose(1), r.IntN(2) == 0)
		}),
		"indented": fill(func(i int) string {
			return fmt.Sprintf("    {\n      \"id\": %d,\n      \"text\": %q\n    },\n", i, prose(r.IntN(20)))
		}),
		"csv": fill(func(i int) string {
			return fmt.Sprintf("%d,%s,%d-%02d-%02d,%.4f,%d\n", i, prose(2), 1990+r.IntN(30), 1+r.IntN(12), 1+r.IntN(28), r.NormFloat64(), r.IntN(1e6))
		}),
		"log": fill(func(i int) string {
			return fmt.Sprintf("2026-03-%02dT%02d:%02d:%02d.%03dZ %s [worker-%d] %s id=%08x\n", 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1000), levels[r.IntN(4)], r.IntN(16), prose(4+r.IntN(8)), r.Uint32())
		}),
		"source": source(tb, n),
		"cjk": fill(func(i int) string {
			if i%23 == 22 {
				return "。"
			}
			return string(han[r.IntN(len(han))])
		}),
		"base64": []byte(base64.StdEncoding.EncodeToString(random)),
	}
}

// mixes returns concatenations of n bytes or more: of few large parts and of
// many small ones.
func mixes(tb testing.TB, n int) map[string][]byte {
	kinds := corpus(tb, n)
	names := []string{"json", "base64", "source", "cjk", "log", "indented", "csv"}
	out := map[string][]byte{}
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 3))
		var b []byte
		for len(b) < n {
			part := kinds[names[r.IntN(len(names))]]
			size := min(1+r.IntN(n/(1<<(seed%5))/2), len(part))
			at := r.IntN(len(part) - size + 1)
			b = append(b, part[at:at+size]...)
		}
		out[fmt.Sprintf("mix%d", seed)] = b
	}
	return out
}

// source returns n bytes of the standard library.
func source(tb testing.TB, n int) []byte {
	var b []byte
	root := filepath.Join(build.Default.GOROOT, "src")
	err := filepath.WalkDir(filepath.Join(root, "net"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		b = append(b, text...)
		if len(b) >= n {
			return filepath.SkipAll
		}
		return err
	})
	if err != nil || len(b) < n {
		tb.Skipf("no source of the standard library: %d bytes, %v", len(b), err)
	}
	return b
}
