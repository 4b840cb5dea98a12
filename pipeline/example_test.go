package pipeline_test

import (
	"context"
	"fmt"
	"strings"

	"rlmproxy/pipeline"
)

const people = `{"total":3,"people":[{"id":1,"name":"ann","city":"Oslo"},{"id":2,"name":"bob","city":"Rome"},{"id":3,"name":"cid"}]}`

func ExamplePipeline() {
	p := pipeline.Pipeline{
		&pipeline.Project{Fields: []string{"people.name", "people.city"}},
		&pipeline.JQ{Program: ".people"},
		&pipeline.Format{As: "table"},
	}
	if err := p.Check(); err != nil {
		fmt.Println(err)
	}
	out, err := p.Run(context.Background(), pipeline.Recognise([]byte(people), nil))
	fmt.Printf("%s%d %s, %v\n%s\n", out.Data, out.Items, out.Unit, err, out.Note)
	// Output:
	// city|name
	// Oslo|ann
	// Rome|bob
	// |cid
	// 3 items, <nil>
	// 1 of 3 records lack .people.city
}

func ExampleError() {
	p := pipeline.Pipeline{&pipeline.Project{Fields: []string{"people.nmae"}}}
	_, err := p.Run(context.Background(), pipeline.Recognise([]byte(people), nil))
	fmt.Println(err)
	// Output:
	// no field people.nmae in the data
	// hint: nearest: people[].name, people[].id, people[].city
}

func ExampleRecognise() {
	for _, s := range []string{`[1,2]`, "{\"a\":1}\n{\"a\":2}\n", `"{\"a\":1}"`, "some\nwords\n"} {
		v := pipeline.Recognise([]byte(s), nil)
		fmt.Printf("%s: %d %s\n", v.Kind, v.Items, v.Unit)
	}
	// Output:
	// JSON: 2 items
	// JSON Lines: 2 lines
	// JSON: 1 fields
	// text: 2 lines
}

func ExampleParsePath() {
	path, err := pipeline.ParsePath(`$.people[0]['full name']`)
	fmt.Println(path, path.JQ(), err)
	// Output: people[0]["full name"] .people[0]["full name"] <nil>
}

func ExampleSlice_Fill() {
	lines := pipeline.Recognise([]byte(strings.Repeat("a line of text\n", 100)), nil)
	page, next, err := (&pipeline.Slice{Offset: 40}).Fill(context.Background(), lines, 20)
	fmt.Printf("%s%d of %d %s, next at %d, %v\n", page.Data, page.Items, page.Total, page.Unit, next, err)
	// Output:
	// a line of text
	// a line of text
	// a line of text
	// a line of text
	// 4 of 100 lines, next at 44, <nil>
}

func ExampleSearch() {
	out, err := (&pipeline.Search{Pattern: "rome", CaseInsensitive: true}).Apply(context.Background(), pipeline.Recognise([]byte(people), nil))
	fmt.Printf("%s%v\n", out.Data, err)
	// Output:
	// 1 match, 1 shown
	// people[1] (.city): {"id":2,"name":"bob","city":"Rome"}
	// <nil>
}

func ExampleOutline() {
	out, err := (&pipeline.Outline{Path: "people"}).Apply(context.Background(), pipeline.Recognise([]byte(people), nil))
	fmt.Printf("%s%v\n", out.Data, err)
	// Output:
	// at people: JSON array of 3 items, 95 bytes
	// Use these paths in fields; put a dot in front for jq
	// people[].id: number, 1..3
	// people[].name: string, "ann" "bob" "cid"
	// people[].city: string, in 67%, "Oslo" "Rome"
	// people[0] {"id":1,"name":"ann","city":"Oslo"}
	// <nil>
}

func ExamplePreview() {
	v := pipeline.Recognise([]byte(`[`+strings.Repeat(`{"id":7,"state":"open"},`, 500)+`{"id":8,"state":"failed"}]`), nil)
	text, part := pipeline.Preview(v, 120)
	fmt.Printf("%s\n%d of %d %s\n", text, part.Shown, part.Total, part.Unit)
	// Output:
	// JSON array of 501 items, 12,027 bytes
	// [].id: number, 7 ×500 8
	// [].state: string, "open" ×500 "failed"
	// [0] {"id":7,"state":"open"}
	// … 499 left out …
	// [500] (max id, state "failed") {"id":8,"state":"failed"}
	// 2 of 501 items
}

func ExampleLossless() {
	v := pipeline.Recognise([]byte(`[`+strings.Repeat(`{"number":7,"state":"open"},`, 50)+`{"number":8}]`), nil)
	short, ok := pipeline.Lossless(v, 300)
	fmt.Printf("%v: %s\n%.20s\n", ok, short.Note, short.Data)
	// Output:
	// true: as a table; an empty cell is a missing field
	// number|state
	// 7|open
}

func ExampleHide() {
	h, err := pipeline.NewHide([]string{"user.token"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range []string{`{"user":{"name":"ann","Token":"s3cr3t"}}`, "token: s3cr3t", "a token of thanks"} {
		text, err := h.Text(context.Background(), []byte(s))
		fmt.Println(strings.TrimSpace(string(text)), err)
	}
	// Output:
	// {"user":{"name":"ann"}} <nil>
	// [withheld: a text of 13 bytes that has a hidden field] <nil>
	// a token of thanks <nil>
}
