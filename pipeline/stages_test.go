package pipeline

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/doctest"
	"rlmproxy/pipeline/find"
	"rlmproxy/pipeline/page"
	"rlmproxy/pipeline/preview"
	"rlmproxy/pipeline/project"
	"rlmproxy/pipeline/query"
	"rlmproxy/pipeline/records"
	"rlmproxy/pipeline/render"
)

// TestCSVPage: the lines of a page have lost their header.
func TestCSVPage(t *testing.T) {
	page := doctest.Apply(t, &page.Slice{Offset: 2}, "id,name\na,ann\nb,bob\nc,eve\nd,dan\n")
	if got, ok, err := records.Of(context.Background(), page); ok || err != nil {
		t.Errorf("records of a page: %s, %v", got.Data, err)
	}
	_, err := (&render.Format{As: "table"}).Apply(context.Background(), page)
	if err == nil || !strings.Contains(err.Error(), `"jq":".[20:40]"`) {
		t.Errorf("a page as a table: %v", err)
	}
}

// TestCSVStages: a table is its records to whatever asks for fields.
func TestCSVStages(t *testing.T) {
	const input = "id,name,city\n1,ann,Oslo\n2,bob,\n"
	const records = `{"id":1,"name":"ann","city":"Oslo"}` + "\n" + `{"id":2,"name":"bob","city":""}` + "\n"
	for _, tt := range []struct {
		stage Stage
		want  string
		kind  doc.Kind
		items int
	}{
		{&query.JQ{Program: "length"}, "2", doc.JSON, 1},
		{&query.JQ{Program: `.[] | select(.id > 1) | .name`}, `"bob"`, doc.JSON, 1},
		{&project.Project{Fields: []string{"name", "[].id"}}, `{"id":1,"name":"ann"}` + "\n" + `{"id":2,"name":"bob"}` + "\n", doc.JSONLines, 2},
		{&project.Project{Exclude: []string{"city"}}, `{"id":1,"name":"ann"}` + "\n" + `{"id":2,"name":"bob"}` + "\n", doc.JSONLines, 2},
		{&page.Slice{Offset: 1, Limit: 1}, "1,ann,Oslo\n", doc.Text, 1},
		{&render.Format{}, input, doc.Text, 3},
		{&render.Format{As: "text"}, input, doc.Text, 3},
		{&render.Format{As: "json"}, records, doc.JSONLines, 2},
		{&render.Format{As: "lines"}, records, doc.JSONLines, 2},
		{&render.Format{As: "table"}, "id|name|city\n1|ann|Oslo\n2|bob|\"\"\n", doc.Text, 2},
	} {
		got := doctest.Apply(t, tt.stage, input)
		if string(got.Data) != tt.want || got.Kind != tt.kind || got.Items != tt.items || got.Total != max(tt.items, got.Total) {
			t.Errorf("%s: %v, %d of %d %s, %s", tt.stage, got.Kind, got.Items, got.Total, got.Unit, got.Data)
		}
	}
	e := doctest.ApplyError(t, &project.Project{Fields: []string{"nmae"}}, input)
	if !strings.Contains(e.Hint, "[].name") {
		t.Error(e)
	}
}

// TestCSVBuiltOnce shares what is built, and builds without asking the memo.
func TestCSVBuiltOnce(t *testing.T) {
	built := map[string]int{}
	kept := doctest.MemoMap()
	memo := doc.Memo(func(key string, build func() (any, int64, error)) (any, error) {
		return kept(key, func() (any, int64, error) {
			built[key]++
			return build()
		})
	})
	v := doc.Recognise([]byte("id,name\n1,ann\n2,bob\n"), memo)
	for range 2 {
		answer(t, v, "length")
		if _, err := (Pipeline{&project.Project{Fields: []string{"id"}}}).Run(context.Background(), v); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(map[string]int{"records": 1}, built); d != "" {
		t.Error(d)
	}
}

// TestHostile feeds every stage what is large, deep or broken. Each must
// end soon, with a result or an error.
func TestHostile(t *testing.T) {
	docs := map[string]string{
		"empty":       "",
		"deep":        strings.Repeat(`{"a":[`, 500) + strings.Repeat("]}", 500),
		"deep, long":  strings.Repeat(`{"a":`, 900) + `"` + strings.Repeat("word ", 20_000) + `"` + strings.Repeat("}", 900),
		"too deep":    strings.Repeat("[", 1_000_000),
		"one line":    strings.Repeat("x y ", 400_000),
		"one string":  `["` + strings.Repeat(`\u00e9 `, 200_000) + `"]`,
		"invalid":     strings.Repeat("\xff\xfe\x00\n", 100_000),
		"bad strings": "[\"\xff\x80\",{\"\xff\":1}]",
		"brackets":    "[" + strings.Repeat("[],", 100_000) + "{}]",
		"many keys":   "{" + doctest.ManyMembers(20_000) + `"":0}`,
		"newlines":    strings.Repeat("\n", 200_000),
	}
	for name, input := range docs {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		v := doc.Recognise([]byte(input), nil)
		for _, s := range []Stage{&project.Project{Fields: []string{"a.b", "[]"}}, &project.Project{Exclude: []string{"a.a"}}, &page.Slice{Offset: 1, Limit: 2}, &render.Format{}, &render.Format{As: "table"}, &render.Format{As: "text"},
			&find.Search{Pattern: "x+y?"}, &find.Search{Pattern: "x", Mode: "bm25"}, &find.Search{Pattern: "xyz", Mode: "fuzzy"}, &find.Search{Pattern: "é", Mode: "context"}, &preview.Outline{}, &preview.Outline{MaxDepth: 1000}, &query.JQ{Program: ".."}} {
			if _, err := s.Apply(ctx, v); ctx.Err() != nil {
				t.Fatalf("%s on %s: %v", s, name, err)
			}
		}
		preview.Preview(v, 500)
		preview.NextCall(v, "id")
		cancel()
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	big := doc.Recognise([]byte("["+strings.Repeat(`{"a":1},`, 5000)+`{}]`), nil)
	for _, s := range []Stage{&project.Project{Fields: []string{"a"}}, &page.Slice{Offset: 1}, &render.Format{As: "table"}, &find.Search{Pattern: "a"}, &find.Search{Pattern: "a", Mode: "bm25"}, &preview.Outline{}, &query.JQ{Program: "."}} {
		if _, err := s.Apply(ctx, big); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", s, err)
		}
		if _, err := (Pipeline{s}).Run(ctx, big); !errors.Is(err, context.Canceled) {
			t.Errorf("pipeline of %s: %v", s, err)
		}
	}
}

// TestTableCancelled: a table is read no further than the caller waits.
func TestTableCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	table := doc.Recognise([]byte(strings.Repeat("1,2\n", 5000)), doctest.MemoMap())
	for _, s := range []Stage{&project.Project{Fields: []string{"c1"}}, &render.Format{As: "lines"}, &preview.Outline{Path: "c1"}, &query.JQ{Program: "length"}} {
		if _, err := s.Apply(ctx, table); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, cancelled: %v", s, err)
		}
	}
}
