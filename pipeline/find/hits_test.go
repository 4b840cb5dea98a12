package find

import (
	"encoding/json"
	"testing"

	"rlmproxy/pipeline/doc"
)

func TestHits(t *testing.T) {
	const records = `[{"id":1,"name":"red apple"},{"id":2,"name":"green pear"},{"id":3,"name":"red plum"}]`
	for _, tt := range []struct {
		kind   doc.Kind
		data   string
		search Search
		want   string
	}{
		{doc.Text, "a\nbad: b\nc bad", Search{Pattern: "bad"}, `[{"line":2,"text":"bad: b"},{"line":3,"text":"c bad"}]`},
		{doc.Text, "a\nbad: b\nc bad", Search{Pattern: "bad", Offset: 1}, `[{"line":3,"text":"c bad"}]`},
		{doc.Text, "a\nbad: b\nc bad", Search{Pattern: "bad", MaxResults: 1}, `[{"line":2,"text":"bad: b"}]`},
		{doc.JSON, records, Search{Pattern: "red"}, `[{"path":".[0].name","text":"\"name\": \"red apple\""},{"path":".[2].name","text":"\"name\": \"red plum\""}]`},
		{doc.JSONLines, "{\"a\":1}\n{\"a\":2}", Search{Pattern: "2"}, `[{"path":".[1].a","text":"\"a\": 2"}]`},
		{doc.JSON, records, Search{Pattern: "x"}, `[]`},
	} {
		hits, err := tt.search.Hits(t.Context(), doc.Value{Kind: tt.kind, Data: []byte(tt.data)})
		got, _ := json.Marshal(hits)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s in %.20s: %s, %v; want %s", tt.search.Pattern, tt.data, got, err, tt.want)
		}
	}
	ranked, err := (&Search{Pattern: "pear", Mode: "bm25"}).Hits(t.Context(), doc.Value{Kind: doc.JSON, Data: []byte(records)})
	if err != nil || len(ranked) != 1 || ranked[0].Path != ".[1]" || ranked[0].Text != `{"id":2,"name":"green pear"}` || ranked[0].Score <= 0 {
		t.Errorf("%+v, %v", ranked, err)
	}
	if _, err := (&Search{Pattern: "("}).Hits(t.Context(), doc.Value{Data: []byte("a")}); err == nil {
		t.Error("a pattern that does not compile")
	}
}
