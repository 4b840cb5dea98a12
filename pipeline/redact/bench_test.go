package redact

import (
	"bytes"
	"context"
	"testing"
	"time"

	"rlmproxy/bench/corpus"
)

const tenMB = 10 << 20

// BenchmarkMask shows MB a second: of a text without keywords, of results, and of texts
// that are made to take long.
func BenchmarkMask(b *testing.B) {
	fill := func(s string) []byte { return bytes.Repeat([]byte(s), tenMB/len(s)) }
	bodies := map[string][]byte{
		"no keyword": fill(`{"id":1234,"name":"Wellington","rows":[1,2,3]},` + "\n"),
		"escaped":    fill(`{\"id\":1234,\"name\":\"Wellington\",\"rows\":[1,2,3]},\n`),
		"a secret":   append(fill(`{"id":1234,"name":"Wellington","rows":[1,2,3]},`+"\n"), pat...),
		"keykey":     fill("key"),
		"key=key=":   fill("key="),
		"labels":     fill(`"api_key": "` + guid + `", `),
		"a string":   []byte(`{"a":"` + string(fill(akia+"/")) + `="}`),
		"a text":     []byte(`{"a":"` + string(fill(akia+" ")) + `"}`),
		"BEGIN":      fill("-----BEGIN PRIVATE KEY-----"),
		"secret":     fill("kind: secret data: "),
		"curl":       fill("curl -u "),
		"ey":         fill(" eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"),
		"s.":         fill(" s.abcdefghijklmnopqrstuvw"),
	}
	for _, name := range []string{"webhooks.json", "ec2.d.ts", "stripe.json"} {
		body, err := corpus.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		bodies[name] = body
	}
	for name, body := range bodies {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
				if _, _, err := Mask(ctx, body); err != nil {
					b.Fatal(err)
				}
				cancel()
			}
		})
	}
}
