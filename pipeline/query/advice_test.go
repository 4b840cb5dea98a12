package query

import (
	"errors"
	"os"
	"strings"
	"testing"

	"rlmproxy/pipeline/doc"
)

// wrongDocuments are what the programs of testdata/wrong.txt run on.
var wrongDocuments = map[string]string{
	"issues": `{"total_count":3,"items":[{"id":"5","title":"Bug: crash on start","state":"open","comments":7,"locked":false,"body":null,"tags":["ui"],"assignee":null,"assignees":null,"created_at":"2025-01-02","user":{"login":"ada"},"labels":[{"name":"bug"}]},
		{"id":"6","title":"Slow list","state":"closed","comments":2,"locked":true,"body":"it does crash","tags":["db","ui"],"assignee":{"login":"Bo"},"assignees":[{"login":"Bo"}],"created_at":"2025-01-01","user":{"login":"bob"},"labels":[]},
		{"id":"7","title":"Docs","state":"open","comments":4,"locked":false,"body":"words","tags":[],"assignee":null,"assignees":[],"created_at":"2025-01-03","user":{"login":"ada"},"labels":[{"name":"docs"}]}]}`,
	"list":     `[{"name":"Ann","city":"Oslo","age":41},{"name":"Bob","city":"Rome","age":29},{"name":"Cy","city":"Oslo","age":35}]`,
	"deep":     `{"ok":true,"data":{"rows":[{"amount":3,"name":"a"},{"amount":5,"name":"b"}]}}`,
	"escaped":  `[{"title":"caf\u00e9","id":1},{"title":"x","id":2}]`,
	"licenses": `{"MIT":{"name":"MIT License","spdx-id":"MIT"},"GPL-3.0":{"name":"GNU GPL 3","spdx-id":"GPL-3.0"},"0BSD":{"name":"Zero-Clause BSD","spdx-id":"0BSD"}}`,
	"headers":  `{"content-type":"text/plain","x-id":7,"@type":"t","$ref":"#/a","a b":1,"headers":{"x-request-id":"q","accept/json":true}}`,
	"dates":    `[{"at":"2025-06-01T10:20:30.123Z"},{"at":"2025-06-02T10:20:30.5Z"}]`,
	"table":    "city,amount\nOslo,3\nRome,4\nLima,5\n",
	"log":      "12:00 INFO user=ada ok\n12:01 ERROR user=bob failed\n12:02 INFO user=cy ok\n",
}

// TestWrongPrograms: a program that does not do is answered with why, and with one that
// does, on this document.
func TestWrongPrograms(t *testing.T) {
	b, err := os.ReadFile("testdata/wrong.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(parts) != 3 {
			continue
		}
		n++
		in := doc.Recognise([]byte(wrongDocuments[parts[0]]), nil)
		out, err := (&JQ{Program: parts[1]}).Apply(t.Context(), in)
		said := out.Note
		var e *doc.Error
		if errors.As(err, &e) {
			said = e.Error()
		}
		if !strings.Contains(said, parts[2]) {
			t.Errorf("%s %s: %s\n  want %s", parts[0], parts[1], said, parts[2])
		}
		_, program, proposed := strings.Cut(said, "use: ")
		if !proposed {
			continue
		}
		if out, err := (&JQ{Program: program}).on(t.Context(), in); err != nil || isEmpty(out) {
			t.Errorf("%s %s: %s gives %q, %v", parts[0], parts[1], program, out.Data, err)
		}
	}
	if n < 240 {
		t.Errorf("%d programs, want 240 or more", n)
	}
}
