package jq

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/itchyny/gojq"
)

// reference parses as encoding/json does, numbers as they are spelt.
func reference(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, io.ErrUnexpectedEOF
	}
	return v, nil
}

// spelt turns the numbers of a tree back into what the document had.
func spelt(v any) any {
	switch v := v.(type) {
	case int, float64:
		b, err := appendTree(nil, v, 0)
		if err != nil {
			panic(err)
		}
		return json.Number(b)
	case []any:
		list := []any{}
		for _, e := range v {
			list = append(list, spelt(e))
		}
		return list
	case *object:
		m := map[string]any{}
		for i, k := range v.shape.keys {
			m[k] = spelt(v.vals[i])
		}
		return m
	}
	return v
}

var documents = []string{
	"null", "true", " false ", `"x"`, "0", "-0", "-1", "1.5", "-1.50", "1.0", "0.1", "0.000001", "0.0000009", "123456789012345", "1234567890123456",
	"9007199254740993", "-9007199254740993", "1e3", "1E400", "-1.5e-7", "0.30000000000000004", "123456789.123456", "99999999999.9999", "1.", ".5", "01", "-", "+1", "1e", "1e+",
	"[]", "{}", "[1,2,[3]]", `{"a":1,"b":{"c":[null]},"a":2}`, `["é","\u00e9","\ud83d\ude00","\ud800","\ud800x","\udc00\ud800","\ud800\u0041","\n\t\"\\\/\b\f\r"]`,
	"\"\xff\xfe\"", "\"a\xffb\\n\xff\"", "\"a\nb\"", "[1,]", "[,]", "{\"a\"}", "{\"a\":}", "{a:1}", "[1 2]", "[", "{", "\"", "\"\\", "\"\\u12", "\"\\x\"", "tru", "nulll", "1 2", "", " ",
	`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9}`, `["aa","aa","bb",255,256,255,256,1.5,1.5]`, "\v1", "1\v",
}

func FuzzParse(f *testing.F) {
	for _, d := range documents {
		f.Add([]byte(d))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > maxDepth {
			return
		}
		was := bytes.Clone(data)
		tree, err := Parse(context.Background(), JSON, data)
		want, refused := reference(data)
		switch {
		case (err == nil) != (refused == nil):
			t.Fatalf("%q: %v, encoding/json: %v", data, err, refused)
		case err == nil && !reflect.DeepEqual(spelt(tree.value), want):
			t.Errorf("%q: %v, want %v", data, tree.value, want)
		case !bytes.Equal(data, was):
			t.Error("changed")
		}
	})
}

// TestNumbers: what a tree holds as int or float64 is the number that gojq
// would make of its spelling.
func TestNumbers(t *testing.T) {
	for _, s := range documents {
		tree, err := Parse(context.Background(), JSON, []byte(s))
		if err != nil {
			continue
		}
		switch tree.value.(type) {
		case json.Number, *object, []any:
			continue
		}
		if want, err := reference([]byte(s)); err != nil || gojq.Compare(tree.value, want) != 0 {
			t.Errorf("%s: %v", s, tree.value)
		}
	}
	tree, err := Parse(context.Background(), JSON, []byte("[9007199254740993, 18446744073709551616]"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := Eval(context.Background(), tree, ".[] * 3")
	third, _ := new(big.Int).SetString("55340232221128654848", 10)
	if err != nil || string(out.Data) != "27021597764222979\n"+third.String()+"\n" {
		t.Errorf("%s, %v", out.Data, err)
	}
}

func TestParseLimits(t *testing.T) {
	deep := strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth)
	if _, err := Parse(t.Context(), JSON, []byte(deep)); err != nil {
		t.Error(err)
	}
	for _, doc := range []string{"[[" + deep + "]]", strings.Repeat("[", 10_000_000), strings.Repeat(`{"a":`, 1_000_000)} {
		if _, err := Parse(t.Context(), JSON, []byte(doc)); err == nil {
			t.Errorf("%d bytes nested", len(doc))
		}
	}
	many := []byte("[" + strings.Repeat("{},", 1_000_000) + "{}]")
	if _, err := parse(t.Context().Err, JSON, many, 40<<20); err != errTooLarge {
		t.Errorf("a million objects in 40 MB: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Parse(ctx, JSON, many); err != context.Canceled {
		t.Error(err)
	}
}

// TestSize: the estimates are what the heap grows by, to a third.
func TestSize(t *testing.T) {
	for name, doc := range map[string]string{
		"records": "[" + strings.Repeat(`{"date":"2001/01/14 21:55","delay":-9,"distance":480,"origin":"DAL","destination":"LBB"},`, 50_000) + "1]",
		"numbers": "[" + strings.Repeat("123456,1.5,", 200_000) + "1]",
		"keys":    "{" + strings.Join(distinctKeys(50_000), ",") + "}",
		"shapes":  "[{" + strings.Join(distinctKeys(50_000), "},{") + "}]",
		"wide":    "[" + strings.Repeat(`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10,"k":11,"l":12},`, 20_000) + "1]",
		"strings": "[" + strings.Repeat(`"a string that is longer than what is shared",`, 50_000) + "1]",
		"escapes": "[" + strings.Repeat(`"a string that is longer\nthan what is shared",`, 50_000) + "1]",
	} {
		before := heap()
		data := []byte(doc)
		tree, err := Parse(t.Context(), JSON, data)
		if err != nil {
			t.Fatal(err)
		}
		grown := heap() - before
		if r := float64(tree.Size()) / float64(grown); r < 0.75 || r > 1.35 {
			t.Errorf("%s: %d bytes estimated, %d in the heap: %.2f", name, tree.Size(), grown, r)
		}
		before = heap()
		maps, err := tree.maps(newStop())
		if err != nil {
			t.Fatal(err)
		}
		grown = heap() - before
		if r := float64(tree.mapped) / float64(grown); r < 0.75 || r > 1.35 {
			t.Errorf("%s: maps of %d bytes estimated, %d in the heap: %.2f", name, tree.mapped, grown, r)
		}
		t.Logf("%s: tree %.1f times the document, maps for gojq %.1f", name, float64(tree.Size())/float64(len(doc)), float64(tree.mapped)/float64(len(doc)))
		runtime.KeepAlive(maps)
		runtime.KeepAlive(data)
		runtime.KeepAlive(tree)
	}
}

// distinctKeys is n members of objects.
func distinctKeys(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"key-%d":null`, i)
	}
	return list
}

// TestShapes: documents whose keys are data make no steps without end, and
// equal keys in another order the same shape.
func TestShapes(t *testing.T) {
	for _, doc := range []string{"{" + strings.Join(distinctKeys(5000), ",") + "}", "[{" + strings.Join(distinctKeys(5000), "},{") + "}]"} {
		p := parser{ended: t.Context().Err, s: doc, left: 1 << 40}
		if _, err := p.document(); err != nil || p.shapes.steps > maxSteps {
			t.Errorf("%.40s: %d steps, %v", doc, p.shapes.steps, err)
		}
	}
	tree := mustParse(t, `[{"b":1,"a":2},{"a":3,"b":4},{"a":0,"b":5,"a":6}]`)
	list := tree.value.([]any)
	for i, want := range []string{`{"a":2,"b":1}`, `{"a":3,"b":4}`, `{"a":6,"b":5}`} {
		got, err := appendTree(nil, list[i], 0)
		if err != nil || string(got) != want || list[i].(*object).shape != list[0].(*object).shape {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}
