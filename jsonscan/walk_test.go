package jsonscan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

// FuzzWalk holds what the walkers yield against encoding/json.
func FuzzWalk(f *testing.F) {
	for _, s := range []string{`{"a":[1,"b\"c",true] , "long key \\":"a string of more than eight bytes"}`, `"`, `[1,2`, `[1 2]`, `{"a":1,}`,
		`[]`, `{ }`, ` [ 1 , 2 ] `, `["é\u00e9"]`, "[\"\xa2\xdc\"]", `[nul]`, `[-0.0e+10]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if !json.Valid(b) {
			return
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, b); err != nil {
			t.Fatal(err)
		}
		if got := AppendMinified([]byte("x"), b); string(got) != "x"+compact.String() {
			t.Errorf("AppendMinified(%q) = %q, want %q", b, got, compact.String())
		}
		var parts []byte
		switch Kind(b) {
		case '[':
			for n, value := range Items(b) {
				if n > 0 {
					parts = append(parts, ',')
				}
				parts = AppendMinified(parts, value)
				if at := OffsetIn(b, value); !bytes.Equal(b[at:at+len(value)], value) {
					t.Errorf("%q is not at %d of %q", value, at, b)
				}
			}
			parts = append(append([]byte{'['}, parts...), ']')
		case '{':
			for key, value := range Fields(b) {
				if parts != nil {
					parts = append(parts, ',')
				}
				parts = AppendMinified(append(append(parts, key...), ':'), value)
			}
			parts = append(append([]byte{'{'}, parts...), '}')
		default:
			return
		}
		if string(parts) != compact.String() {
			t.Errorf("the parts of %q are %q", b, parts)
		}
	})
}

func ExampleItems() {
	for n, item := range Items([]byte(`[ {"id": 1.0}, "x", null ]`)) {
		fmt.Printf("%d: %s\n", n, item)
	}
	// Output:
	// 0: {"id": 1.0}
	// 1: "x"
	// 2: null
}

func ExampleFields() {
	for key, value := range Fields([]byte(`{"id": 1.0, "na\u006de": [ ]}`)) {
		fmt.Printf("%s: %s\n", Unquote(key), value)
	}
	// Output:
	// id: 1.0
	// name: [ ]
}
