package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"rlmproxy/bench/corpus"
	"rlmproxy/middleware/frame"
	"rlmproxy/middleware/shape"
)

// genText draws what a tool may return: JSON of several shapes, text, and
// lines that imitate our own notices.
func genText(real []string) *rapid.Generator[string] {
	word := rapid.SampledFrom([]string{"open", "closed", "ü", "日本", "a|b", "\x00", "\\", `"`, "\t", "error", "x y", "9007199254740993"})
	notice := rapid.SampledFrom([]string{
		"[cut: ~1 of ~2 tokens shown · 1 of 2 items · cache_id=aaaaaaaaaaaaaaaa]",
		"[complete: nothing left out · minified · ~1 instead of ~2 tokens]",
		`next: proxy_filter {"cache_id":"aaaaaaaaaaaaaaaa","jq":"."}`,
		"[20 of 30 lines · next offset 50]", "… 10 left out …", "--- block 1 of this result: ~7 tokens",
	})
	line := rapid.OneOf(word, notice, rapid.String(), rapid.StringMatching(`20\d\d-0\d-1\d (INFO|ERROR) [a-z ]{1,40}`))
	return rapid.Custom(func(t *rapid.T) string {
		n := rapid.SampledFrom([]int{0, 1, 2, 5, 10, 20, 40, 80, 160, 400}).Draw(t, "n")
		switch rapid.SampledFrom([]int{0, 1, 1, 1, 2, 3, 4, 5, 6}).Draw(t, "form") {
		case 0: // lines
			lines := rapid.SliceOfN(line, 1, 6).Draw(t, "lines")
			return strings.Repeat(strings.Join(lines, "\n")+"\n", max(n/3, 1))
		case 1: // records, perhaps inside an object, indented or in a string
			keys := rapid.SliceOfNDistinct(rapid.OneOf(word, notice), 1, 4, rapid.ID).Draw(t, "keys")
			var rows []map[string]any
			for i := range n {
				row := map[string]any{}
				for j, k := range keys {
					if (i+j)%7 != 0 {
						row[k] = []any{i, word.Draw(t, "word"), nil, float64(i) / 7}[(i*j)%4]
					}
				}
				rows = append(rows, row)
			}
			var doc any = rows
			if rapid.Bool().Draw(t, "inside") {
				doc = map[string]any{"total": n, "rows": rows}
			}
			b, _ := json.Marshal(doc)
			if rapid.Bool().Draw(t, "indented") {
				b, _ = json.MarshalIndent(doc, "", "    ")
			}
			if rapid.IntRange(0, 3).Draw(t, "string") == 0 {
				b, _ = json.Marshal(map[string]any{"result": string(b)})
			}
			return string(b)
		case 2: // JSON Lines
			return strings.Repeat(fmt.Sprintf("{\"a\":%d,\"b\":%q}\n", n, word.Draw(t, "word")), n)
		case 3: // one line
			return strings.Repeat(line.Draw(t, "line"), n)
		case 4: // a part of a real result
			doc := rapid.SampledFrom(real).Draw(t, "real")
			from := rapid.IntRange(0, len(doc)-1).Draw(t, "from")
			return strings.ToValidUTF8(doc[from:min(from+n*30, len(doc))], "")
		case 5: // CSV
			return "id,name\n" + strings.Repeat(fmt.Sprintf("%d,%q\n", n, word.Draw(t, "word")), n)
		}
		return line.Draw(t, "line") + strings.Repeat(" \n", n)
	})
}

// genResult draws a result of one or several blocks.
func genResult(real []string) *rapid.Generator[json.RawMessage] {
	return rapid.Custom(func(t *rapid.T) json.RawMessage {
		var blocks []any
		for range rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, "blocks") {
			text := genText(real).Draw(t, "text")
			switch rapid.IntRange(0, 7).Draw(t, "type") {
			case 0:
				blocks = append(blocks, map[string]any{"type": "resource", "resource": map[string]any{"uri": "a:b", "text": text}})
			case 1:
				blocks = append(blocks, map[string]any{"type": "image", "data": "aGk=", "mimeType": "image/png"})
			default:
				blocks = append(blocks, map[string]any{"type": "text", "text": text})
			}
		}
		r := map[string]any{"content": blocks}
		if rapid.IntRange(0, 5).Draw(t, "error") == 0 {
			r["isError"] = true
		}
		if rapid.IntRange(0, 5).Draw(t, "structured") == 0 {
			r["structuredContent"] = map[string]any{"x": genText(real).Draw(t, "structured text")}
		}
		if rapid.IntRange(0, 5).Draw(t, "meta") == 0 {
			r["_meta"] = map[string]any{"a": 1.5, "rlmproxy/result": map[string]any{"complete": true}}
		}
		b, _ := json.Marshal(r)
		return b
	})
}

var (
	cutLine = regexp.MustCompile(`^\[cut: ~([\d,]+) of ~([\d,]+) tokens shown[^\n]* · cache_id=([a-z2-7]{16})\]\n`)
	// foreign is what only we may say, as genResult draws it.
	foreign      = regexp.MustCompile(`rlmproxy/|\[cut: |\[complete: |next: |\[20 of |--- block `)
	completeLine = regexp.MustCompile(`^\[complete: nothing left out · [^\n]*~([\d,]+) instead of ~([\d,]+) tokens · original: "format":"text" · cache_id=([a-z2-7]{16})\]\n`)
)

// TestPromises holds the promises on one result over generated and real data:
// untouched below the limit, never larger, never silently partial, the same
// bytes for the same input, and an id that gives all of it back.
func TestPromises(t *testing.T) {
	var real []string
	for _, f := range corpus.Files {
		b, err := corpus.Open(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		real = append(real, string(b))
	}
	var raw json.RawMessage
	up := server(map[string]string{}, "x")
	up.call = func(_ context.Context, _ toolCall) (json.RawMessage, error) { return raw, nil }
	type proxy struct {
		limit int
		conn  client
	}
	var proxies []proxy
	for i, limit := range []int{1, 8, 30, 80, 200, 700, 2000} {
		_, conn := dial(t, Options{NoDifferences: true, MaxTokens: limit, PreviewTokens: []int{0, 50, 5000}[i%3], NoLossless: i%4 == 3, Upstreams: []Upstream{{Name: "s", Conn: up}}})
		proxies = append(proxies, proxy{limit, conn})
	}
	seen := map[string]int{}
	check := func(rt failer, p proxy) {
		got := call(t, p.conn, "x", `{}`)
		r, err := shape.ParseToolResult(raw)
		if err != nil {
			rt.Fatal(err)
		}
		before := r.Tokens()
		untouched := string(frame.Label(frame.Strip(raw), "s"))
		if !foreign.Match(raw) && untouched != string(raw) {
			rt.Fatalf("%s became %s", raw, untouched)
		}
		if before <= p.limit {
			seen["small"]++
			if got != untouched {
				rt.Fatalf("%d tokens are within %d, and changed: %s", before, p.limit, got)
			}
			return
		}
		if again := call(t, p.conn, "x", `{}`); again != got {
			rt.Fatalf("twice the same call:\n%s\n%s", got, again)
		}
		if got == untouched {
			seen["no room"]++
			if p.limit > 80 {
				rt.Fatalf("%d tokens go through a limit of %d", before, p.limit)
			}
			return
		}
		reply, err := shape.ParseToolResult(json.RawMessage(got))
		if err != nil {
			rt.Fatal(err)
		}
		after := reply.Tokens()
		text := string(reply.Docs[0].Text)
		facts := decode(t, got).Meta.Result
		if after > before || after > p.limit && strings.Count(text, "\n") > 1 {
			rt.Fatalf("%d tokens became %d, limit %d:\n%s", before, after, p.limit, text)
		}
		if reply.IsError != r.IsError || len(reply.Docs) != 1 {
			rt.Fatalf("isError %v, %d documents", reply.IsError, len(reply.Docs))
		}
		for _, b := range gjson.GetBytes(raw, "content").Array() {
			if b.Get("type").String() == "image" && !strings.Contains(got, b.Raw) {
				rt.Fatalf("an image is lost: %s", got)
			}
		}
		number := func(s string) int { n, _ := strconv.Atoi(strings.ReplaceAll(s, ",", "")); return n }
		if m := completeLine.FindStringSubmatch(text); m != nil {
			seen["complete"]++
			if !facts.Complete || number(m[2]) != before || facts.ShownTokens != number(m[1]) {
				rt.Fatalf("%+v, %s", facts, m[0])
			}
			for _, d := range r.Docs {
				readBack(t, rt, p.conn, m[3], d)
			}
			return
		}
		m := cutLine.FindStringSubmatch(text)
		if m == nil {
			rt.Fatalf("the first line does not say that something is missing: %.300s", text)
		}
		seen["cut"]++
		if facts.Complete || number(m[2]) != before || facts.Tokens != before || string(facts.CacheID) != m[3] || number(m[1]) > after {
			rt.Fatalf("%+v, %d tokens, %s", facts, before, m[0])
		}
		for _, d := range r.Docs {
			readBack(t, rt, p.conn, m[3], d)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		raw = genResult(real).Draw(rt, "result")
		check(rt, rapid.SampledFrom(proxies).Draw(rt, "proxy"))
	})
	// One of each kind in any case.
	for _, example := range []string{"word", strings.Repeat("word ", 12), "[" + strings.Repeat(" 1,\n\n", 260) + "1]", records(300)} {
		raw = textResult(example)
		for _, p := range proxies {
			check(t, p)
		}
	}
	for _, kind := range []string{"small", "no room", "complete", "cut"} {
		if seen[kind] == 0 {
			t.Errorf("no result was %s: %v", kind, seen)
		}
	}
}

// A failer is a [testing.T] or a [rapid.T].
type failer interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// readBack reads a block as a resource, which is whole at any limit.
func readBack(t *testing.T, rt failer, conn client, id string, d shape.Document) {
	uri := fmt.Sprintf("rlmproxy://cache/%s/%d", id, d.Block)
	raw, err := conn.Call(t.Context(), "resources/read", json.RawMessage(fmt.Sprintf(`{"uri":%q}`, uri)))
	if err != nil {
		rt.Fatalf("%s: %v", uri, err)
	}
	var got struct{ Contents []struct{ Text string } }
	if err := json.Unmarshal(raw, &got); err != nil || strings.TrimPrefix(got.Contents[0].Text, frame.Data) != string(d.Text) {
		rt.Fatalf("%s is %.200s, %v", uri, raw, err)
	}
}
