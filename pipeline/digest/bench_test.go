package digest

import (
	"context"
	"strings"
	"testing"

	"rlmproxy/bench/corpus"
	"rlmproxy/pipeline/digest/digesttest"
)

// grownTo repeats text up to n bytes.
func grownTo(n int, text string) []byte {
	return []byte(strings.Repeat(text, n/len(text)+1))
}

// BenchmarkOf is a cold preview without the counting of tokens.
func BenchmarkOf(b *testing.B) {
	const size = 2 << 20
	source, err := corpus.Open("ec2.d.ts")
	if err != nil {
		b.Fatal(err)
	}
	for _, bb := range []struct {
		name string
		data []byte
	}{
		{"source", source},
		{"log", digesttest.ServiceLog(26_000)},
		{"random log", grownTo(size, string(digesttest.RandomLog(3000)))},
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
			b.SetBytes(int64(len(bb.data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Of(context.Background(), bb.data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
