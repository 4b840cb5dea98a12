package bench

import (
	"bytes"
	"encoding/json"
	"testing"

	"rlmproxy/bench/corpus"
	"rlmproxy/pipeline"
)

// TestKinds: documents have their size within one record, are valid, and begin as
// the file does; a repetition is not the same again.
func TestKinds(t *testing.T) {
	const size = 6_000_000
	for _, k := range shapes {
		doc, err := ofKind(k.name, size)
		if err != nil {
			t.Fatal(err)
		}
		file, err := corpus.Open(k.file)
		if err != nil {
			t.Fatal(err)
		}
		if k.form == formObject {
			if !bytes.Equal(doc, file) {
				t.Errorf("%s: not the file", k.name)
			}
			continue
		}
		if len(doc) > size || len(doc) < size-200_000 {
			t.Errorf("%s: %d bytes", k.name, len(doc))
		}
		switch v := pipeline.Recognise(doc, nil); {
		case k.form == formArray && !json.Valid(doc):
			t.Errorf("%s: no JSON", k.name)
		case k.form == formArray && v.Kind != pipeline.JSON, k.form == formLines && v.Kind != pipeline.JSONLines,
			k.form != formArray && k.form != formLines && v.Kind != pipeline.Text:
			t.Errorf("%s: %v", k.name, v.Kind)
		}
		again := bytes.Count(doc, doc[20_000:22_000])
		if again != 1 {
			t.Errorf("%s: what stands at 20,000 is there %d times", k.name, again)
		}
	}
}
