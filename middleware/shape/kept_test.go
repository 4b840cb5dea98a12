package shape

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKept: what the cache keeps reads as the documents that it was made of.
func TestKept(t *testing.T) {
	var all []*Documents
	for _, text := range []string{"", "a", "{}", "text\n", "blocks\n[]", `{"content":[]}`, "\xff"} {
		d := newText([]byte(text))
		if len(d.Docs) != 1 || string(d.Docs[0].Text) != text {
			t.Errorf("%q: %+v", text, d.Docs)
		}
		all = append(all, d)
	}
	for _, list := range []string{`[]`, `[5]`, `[{"uri":"a:b","text":"x"},{"uri":"a:c","blob":"QUJD","mimeType":"a/b"},{"uri":"a:d"}]`} {
		d, err := newContents(json.RawMessage(list))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	d, err := newBlocks(json.RawMessage(`{"type":"text","text":"x"}`), json.RawMessage(`{"type":"image","data":"QUJD"}`))
	if err != nil || len(d.Docs) != 1 || len(d.others()) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	for _, d := range append(all, d) {
		again, err := read(d.kept)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(d, again, cmp.AllowUnexported(Documents{})); diff != "" {
			t.Errorf("%q: %s", d.kept, diff)
		}
	}
}
