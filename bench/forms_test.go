package bench

import (
	"bytes"
	"encoding/json"
	"testing"

	"rlmproxy/bench/corpus"
	"rlmproxy/bench/outputs"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/render"
	"rlmproxy/pipeline/tokens"
)

// payloads are the first example of each webhook event, indented as its API writes it, and
// what else of the corpus and the outputs is JSON of up to 100 KB, with nothing around it.
func payloads(tb testing.TB) []document {
	tb.Helper()
	var events []struct {
		Name     string
		Examples []json.RawMessage
	}
	if err := json.Unmarshal(anyFile(tb, "webhooks.json"), &events); err != nil {
		tb.Fatal(err)
	}
	var docs []document
	for _, e := range events {
		var b bytes.Buffer
		if err := json.Indent(&b, e.Examples[0], "", "  "); err != nil {
			tb.Fatal(err)
		}
		docs = append(docs, document{"event " + e.Name, b.Bytes()})
	}
	names := outputs.Names()
	for _, f := range corpus.Files {
		names = append(names, f.Name)
	}
	for _, name := range names {
		b := anyFile(tb, name)
		if v := pipeline.Recognise(b, nil); len(b) <= 100_000 && v.Kind != pipeline.Text && v.Whole == nil {
			docs = append(docs, document{name, b})
		}
	}
	return docs
}

// TestForms holds that a form which loses nothing is never longer than minified JSON, and
// prints what all of them take, and how many are within the limit.
func TestForms(t *testing.T) {
	const limit, all = 2000, 100_000
	var n, itself, minified, shortest, fitMinified, fit int
	for _, d := range payloads(t) {
		before, _ := d.count()
		if before <= limit {
			continue
		}
		v := pipeline.Recognise(d.text, nil)
		compact, err := (&render.Format{}).Apply(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		min, _ := tokens.Count(compact.Data)
		v.Data = append(bytes.Clone(d.text), bytes.Repeat([]byte(" "), all*200)...) // so that it does not fit itself
		out, ok := render.Lossless(v, all)
		if !ok {
			t.Errorf("%s: no form", d.name)
			continue
		}
		short, _ := tokens.Count(out.Data)
		if short > min {
			t.Errorf("%s: %d tokens, minified %d", d.name, short, min)
		}
		n, itself, minified, shortest = n+1, itself+before, minified+min, shortest+short
		if min <= limit {
			fitMinified++
		}
		if short <= limit {
			fit++
		}
		t.Logf("%-40s %7d %7d %7d  %.60s", d.name, before, min, short, out.Note)
	}
	t.Logf("%d results over %d tokens: %d as they came, %d minified, of which %d fit, %d in the shortest form, of which %d fit",
		n, limit, itself, minified, fitMinified, shortest, fit)
	if fit <= fitMinified {
		t.Errorf("%d fit, minified %d", fit, fitMinified)
	}
}
