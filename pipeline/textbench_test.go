package pipeline

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// corpusFile returns a file of the corpus.
func corpusFile(tb testing.TB, name string) []byte {
	tb.Helper()
	f, err := os.Open(filepath.Join("..", "bench", "corpus", "data", name+".gz"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// serviceLog is n lines of a log: four kinds of entries, and three that are
// there once.
func serviceLog(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "2026-03-05T%02d:%02d:%02d.%03dZ ", i/3600%24, i/60%60, i%60, r.IntN(1000))
		switch k := r.IntN(100); {
		case i == n/2:
			b.WriteString("ERROR [main] db: connection lost: dial tcp 10.0.0.5:5432: refused\njava.lang.IllegalStateException: pool closed\n\tat com.acme.Pool.get(Pool.java:42)\nCaused by: java.net.ConnectException: refused\n\t... 3 more\n")
		case i == n*3/4:
			b.WriteString("FATAL [main] out of disk space on /var/lib/data\n")
		case i == n/3:
			b.WriteString("INFO  [main] configuration reloaded by admin\n")
		case k < 60:
			fmt.Fprintf(&b, "INFO  [worker-%d] request %08x from 10.0.%d.%d took %dms\n", r.IntN(16), r.Uint32(), r.IntN(256), r.IntN(256), r.IntN(900))
		case k < 90:
			fmt.Fprintf(&b, "DEBUG [worker-%d] cache hit for key user:%d\n", r.IntN(16), r.IntN(100000))
		case k < 99:
			fmt.Fprintf(&b, "WARN  [worker-%d] slow query (%d ms): SELECT * FROM t%d\n", r.IntN(16), r.IntN(9000), r.IntN(30))
		default:
			fmt.Fprintf(&b, "ERROR [worker-%d] timeout after %ds calling http://svc-%d/api\n", r.IntN(16), r.IntN(30), r.IntN(9))
		}
	}
	return b.Bytes()
}

// grownTo repeats text up to n bytes.
func grownTo(n int, text string) []byte {
	return []byte(strings.Repeat(text, n/len(text)+1))
}

// BenchmarkDigest is a cold preview without the counting of tokens.
func BenchmarkDigest(b *testing.B) {
	const size = 2 << 20
	for _, bb := range []struct {
		name string
		data []byte
	}{
		{"source", corpusFile(b, "ec2.d.ts")},
		{"log", serviceLog(26_000)},
		{"random log", grownTo(size, string(randomLog(3000)))},
		{"diff", grownTo(size, "diff --git a/x.go b/x.go\n--- a/x.go\n+++ b/x.go\n@@ -1,3 +1,3 @@\n a line\n-old text of it\n+new text of it\n more\n")},
		{"Markdown", grownTo(size, "## A heading\n\nSome text with [a link](http://x.y/z) in it, and more of it.\n\n- item\n- item\n\n```go\nfunc x() {}\n```\n\n")},
		{"YAML", grownTo(size, "name: x\nitems:\n  - id: 1\n    text: some words here\n  - id: 2\n    text: other words\n")},
		{"snapshot", grownTo(size, "- generic [ref=e1]:\n  - heading \"Title of it\" [level=2] [ref=e2]\n  - link \"More\" [ref=e3] [cursor=pointer]:\n    - /url: https://example.org/\n")},
		{"HTML", grownTo(size, "<html><body><h1>Title</h1>\n<p>Some text, <a href=\"/x\">a link</a> and more.</p>\n<div class=\"x\"><span>words</span></div>\n")},
		{"XML", grownTo(size, "<?xml version=\"1.0\"?>\n<items>\n  <item id=\"1\"><name>x</name><price>3</price></item>\n</items>\n")},
		{"plain", grownTo(size, "A Heading\n\nSome words that go on for a while, as they do in text.\nAnd on it goes with more of them.\n\n")},
		{"one line", grownTo(size, "some words ")},
		{"newlines", grownTo(size, "\n")},
		{"trace", grownTo(size, "java.lang.IllegalStateException: pool\n\tat com.acme.Pool.get(Pool.java:42)\n\tat com.acme.Main.run(Main.java:7)\nCaused by: java.io.IOException: x\n\t... 2 more\n")},
	} {
		b.Run(strings.ReplaceAll(bb.name, " ", "-"), func(b *testing.B) {
			v := Recognise(bb.data, nil)
			b.SetBytes(int64(len(bb.data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := digestOf(context.Background(), v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// randomLog has no two lines alike.
func randomLog(n int) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "2026-03-05T00:00:%02d INFO ", i%60)
		for range 3 + r.IntN(12) {
			for range 3 + r.IntN(7) {
				b.WriteByte(byte('a' + r.IntN(26)))
			}
			b.WriteByte(' ')
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}
