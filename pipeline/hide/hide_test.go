package hide

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/doctest"
	"rlmproxy/pipeline/show"
)

func TestHide(t *testing.T) {
	long := `[{"id":1,"key":"` + strings.Repeat("k", 200) + `"}]`
	for _, tt := range []struct {
		name   string
		fields []string
		in     string
		want   string
	}{
		{"at the top", []string{"a"}, `{"a":1,"b":2}`, `{"b":2}`},
		{"the last", []string{"b"}, `{"a":1,"b":2}`, `{"a":1}`},
		{"all", []string{"a", "b"}, `{"a":1,"b":2}`, `{}`},
		{"at any depth", []string{"key"}, `{"rows":[{"id":1,"key":"k"},{"x":{"key":[1]}}]}`, `{"rows":[{"id":1},{"x":{}}]}`},
		{"only below", []string{"user.key"}, `{"key":1,"user":[{"key":2,"x":{"key":3}}]}`, `{"key":1,"user":[{"x":{"key":3}}]}`},
		{"arrays may be spelt out", []string{"user[].key"}, `{"user":[{"key":2}]}`, `{"user":[{}]}`},
		{"in a string", []string{"key"}, `{"text":"{\"key\":1,\"id\":2}"}`, `{"text":"{\"id\":2}"}`},
		{"the document is a string", []string{"key"}, `"{\"key\":1,\"id\":2}"`, `{"id":2}`},
		{"escaped key", []string{"key"}, `{"k\u0065y":1,"id":2}`, `{"id":2}`},
		{"twice", []string{"key"}, `{"key":1,"key":2}`, `{}`},
		{"JSON Lines", []string{"key"}, "{\"key\":1}\n{\"id\":2}\n", "{}\n{\"id\":2}\n"},
		{"CSV", []string{"key"}, "id,key\n1,k\n2,l\n", "{\"id\":1}\n{\"id\":2}\n"},
		{"spelling stays", []string{"key"}, `{"n": 1.0, "key":1, "m": {"x": 1e2} }`, `{"n":1.0,"m":{"x":1e2}}`},
		{"nothing to hide", []string{"key"}, `{ "n" : 1.0 }`, `{ "n" : 1.0 }`},
		{"any case", []string{"Key"}, `{"KEY":1,"id":2}`, `{"id":2}`},
		{"the name alone", []string{"key"}, `["key","keys",{"name":"Key"}]`, `["key","keys",{"name":"Key"}]`},
		{"other words", []string{"key"}, "the keys to it, or a monkey: none", "the keys to it, or a monkey: none"},
		{"prose", []string{"key"}, "Press any key to go on, or the other key, once.", "Press any key to go on, or the other key, once."},
		{"prose in a string", []string{"key"}, `{"message":"the key is lost"}`, `{"message":"the key is lost"}`},
		{"prose in a cell", []string{"key"}, "id,note\n1,the key is lost\n2,x\n", "id,note\n1,the key is lost\n2,x\n"},
		{"a string in a string", []string{"key"}, `{"s":` + show.Quote(`{"t":`+show.Quote(`{"key":1}`)+`}`) + `}`, `{"s":"{\"t\":\"{}\"}"}`},
		{"JSON Lines in a string", []string{"key"}, `{"s":"{\"key\":1}\n{\"id\":2}\n"}`, `{"s":"{}\n{\"id\":2}\n"}`},
		{"CSV in a string", []string{"key"}, `{"s":"id,key\n1,k\n2,l\n"}`, `{"s":"{\"id\":1}\n{\"id\":2}\n"}`},
		{"escaped brace", []string{"key"}, `{"s":"\u007b\"key\":1}"}`, `{"s":"{}"}`},
		{"byte order mark", []string{"key"}, "\ufeff{\"key\":1}", "{}"},
		{"a field that records have", []string{"email"}, "commit 0123456789abcdef0123456789abcdef01234567\nAuthor: A <a@b>\n\n    s\n", `{"hash":"0123456789abcdef0123456789abcdef01234567","author":"A","subject":"s"}` + "\n"},
		{"a log's", []string{"ip"}, "1.2.3.4 - - [02/Jan/2026:03:04:05 +0000] \"-\" 400 0\n1.2.3.4 - - [02/Jan/2026:03:04:06 +0000] \"-\" 400 0\n",
			`{"time":"02/Jan/2026:03:04:05 +0000","status":400,"bytes":0}` + "\n" + `{"time":"02/Jan/2026:03:04:06 +0000","status":400,"bytes":0}` + "\n"},
		{"a log that labels one", []string{"key"}, "2026-01-02 03:04:05 INFO key=1\n2026-01-02 03:04:05 INFO b\n", "[withheld: a text of 58 bytes that has a hidden field]\n"},
		{"a column of a page", []string{"key"}, "<html>\n<table><tr><th>id<th>key<tr><td>1<td>k<tr><td>2<td>l</table>", "{\"id\":1}\n{\"id\":2}\n"},
		{"a column with tags in its name", []string{"api key"}, "<html>\n<table><tr><th>id<th>API\n<b>key</b><tr><td>1<td>k</table>", "{\"id\":1}\n"},
		{"a column with entities", []string{"key"}, "<html>\n<table><tr><th>id<th>k&#101;y<tr><td>1<td>k</table>", "{\"id\":1}\n"},
		{"an element with a prefix", []string{"key"}, "<?xml version=\"1.0\"?>\n<a>\n<n:key>s3</n:key>\n<id>1</id>\n</a>\n", "[withheld: a text of 60 bytes that has a hidden field]\n"},
		{"YAML that escapes", []string{"key"}, "id: 1\n\"k\\x65y\": s3\nz: 2\n", `{"id":1,"z":2}`},
		{"TOML that escapes", []string{"key"}, "id = 1\n\"k\\U00000065y\" = 's3'\nz = 2\n", `{"id":1,"z":2}`},
		{"text around JSON", []string{"key"}, "Found:\n" + long + "\nbye", "Found:\n[{\"id\":1}]\nbye"},
		{"one named around JSON", []string{"key"}, "key: 5\n" + long, "[withheld: a text of 226 bytes that has a hidden field]\n"},
		{"NaN", []string{"key"}, `{"key":1,"n":NaN}`, `{"n":null}`},
		{"column twice", []string{"key"}, "id,key,key\n1,k,l\n2,m,n\n", "{\"id\":1}\n{\"id\":2}\n"},
	} {
		h, err := NewHide(tt.fields)
		if err != nil {
			t.Fatal(err)
		}
		got, err := h.Text(context.Background(), []byte(tt.in))
		if d := cmp.Diff(tt.want, string(got)); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", tt.name, err, d)
		}
	}
	for _, bad := range []string{"", "[]", "[0].a", "a..b"} {
		if _, err := NewHide([]string{bad}); err == nil {
			t.Errorf("hide %q is accepted", bad)
		}
	}
	h, err := NewHide([]string{"key"})
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]string{
		"cut off":             `[{"id":1,"key":"s3"},{"id":`,
		"NaN":                 `{"id":NaN,"key":"s3"}`,
		"a note behind":       `{"key":"s3"}` + "\nand a note",
		"a note before":       "file.json:\n" + `{"key":"s3"}`,
		"several":             "{\n \"key\":\"s3\"\n}\n{\n \"key\":\"s3\"\n}",
		"comma at the end":    `{"key":"s3",}`,
		"Python":              `{'key': 's3'}`,
		"fenced":              "```json\n{\"key\":\"s3\"}\n```",
		"event stream":        `data: {"key":"s3"}`,
		"a log line between":  "{\"key\":\"s3\"}\nINFO x\n{\"id\":1}\n",
		"one row":             "id,key\n1,s3\n",
		"one column":          "key\ns3\ns3\ns3\n",
		"a comment before":    "# users\nid,key\n1,s3\n2,s3\n",
		"ragged":              "id,key\n1,s3,x,y\n2\n3,s3,z\n",
		"year in the header":  "2020,key,x\n1,s3,2\n2,s3,3\n",
		"YAML":                "users:\n- key: s3\n",
		"environment":         "A=1\nKEY=s3\n",
		"Markdown":            "| id | key |\n| --- | --- |\n| 1 | s3 |\n",
		"XML":                 "<key>s3</key>",
		"a command":           "login --key s3",
		"a sentence":          "Your key: s3",
		"bold":                "**Key**: s3",
		"columns":             "ID   KEY   AGE\n1    s3    2d\n",
		"psql":                " id | key\n----+-----\n  1 | s3\n",
		"a label in a string": `{"message":"key=s3"}`,
		"a label in a cell":   "id,note\n1,key=s3\n2,x\n",
		"too deep":            strings.Repeat("[", 2000) + `{"key":"s3"}` + strings.Repeat("]", 2000),
		"too deep a string":   `{"s":` + show.Quote(strings.Repeat("[", 2000)+`{"key":"s3"}`+strings.Repeat("]", 2000)) + `}`,
	} {
		got, err := h.Text(context.Background(), []byte(in))
		if err != nil || strings.Contains(string(got), "s3") {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got, err := h.Text(ctx, []byte(`{"key":1}`)); err == nil {
		t.Errorf("without time to search, %s is shown", got)
	}
}

// TestHideFindsAll compares with a walk over the decoded tree.
func TestHideFindsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := doctest.GenDoc().Draw(t, "doc")
		key := rapid.SampledFrom([]string{"x y", "a.b"}).Draw(t, "key")
		h, err := NewHide([]string{doc.Path{{Key: key}}.String()})
		if err != nil {
			t.Fatal(err)
		}
		got, err := h.Text(context.Background(), input)
		if err != nil {
			t.Fatal(err)
		}
		want := without(doctest.Entered(doctest.Decode(t, input)), key)
		if d := cmp.Diff(want, doctest.Entered(doctest.Decode(t, got))); d != "" {
			t.Fatalf("%s without %s is %s\n%s", input, key, got, d)
		}
	})
}

func without(tree any, key string) any {
	switch v := tree.(type) {
	case []any:
		for i := range v {
			v[i] = without(v[i], key)
		}
	case map[string]any:
		delete(v, key)
		for k := range v {
			v[k] = without(v[k], key)
		}
	}
	return tree
}
