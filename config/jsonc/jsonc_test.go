package jsonc

import (
	"strings"
	"testing"

	"github.com/tailscale/hujson"
	"pgregory.net/rapid"
)

// TestEdits: whatever stands between tokens, what is put in or taken out leaves the other
// members as they are, and the file readable.
func TestEdits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blank := func() string {
			return rapid.SampledFrom([]string{"", " ", "\n", "\n  ", "\r\n\t", " // a } comment\n", "/* , \" */", "\n    /* x */ "}).Draw(t, "blank")
		}
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 4, rapid.ID).Draw(t, "names")
		text := blank() + "{" + blank()
		for i, name := range names {
			if i > 0 {
				text += "," + blank()
			}
			text += `"` + name + `"` + blank() + ":" + blank() + `"` + name + `1"` + blank()
		}
		if len(names) > 0 && rapid.Bool().Draw(t, "comma") {
			text += "," + blank()
		}
		text += "}" + blank()
		d, err := Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		obj := d.root.Value.(*hujson.Object)
		want := map[string]string{}
		for _, name := range names {
			want[name] = name + "1"
		}
		for range 3 {
			name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "name")
			if at := Index(obj, name); at >= 0 && rapid.Bool().Draw(t, "remove") {
				RemoveAlone(obj, at)
				delete(want, name)
			} else if err := d.Set(obj, nil, name, name+"2"); err != nil {
				t.Fatal(err)
			} else {
				want[name] = name + "2"
			}
		}
		again, err := Parse("f", d.Bytes())
		if err != nil {
			t.Fatalf("%s\n%v", d.Bytes(), err)
		}
		if v, err := Decoded(again.root); err != nil || len(v.(map[string]any)) != len(want) {
			t.Fatalf("%s: %v, want %v, %v", d.Bytes(), v, want, err)
		} else {
			for name, text := range want {
				if v.(map[string]any)[name] != text {
					t.Fatalf("%s: %s is not %s", d.Bytes(), name, text)
				}
			}
		}
	})
}

// TestRemoveAlone: a comment in the line of a member goes with it, and that of another stays.
func TestRemoveAlone(t *testing.T) {
	const text = `{ // all
  "a": 1, // about a
  // above b
  "b": 2, // about b
  "c": 3 // about c
  // end
}`
	for name, gone := range map[string]string{
		"a": "\n  \"a\": 1, // about a", "b": "\n  // above b\n  \"b\": 2, // about b", "c": ",\n  \"c\": 3 // about c",
	} {
		d, err := Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		obj := d.root.Value.(*hujson.Object)
		RemoveAlone(obj, Index(obj, name))
		want := strings.Replace(text, gone, "", 1)
		if name == "c" {
			want = strings.Replace(text, ", // about b\n  \"c\": 3 // about c", " // about b", 1)
		}
		if got := string(d.Bytes()); got != want {
			t.Errorf("%s: got %s\nwant %s", name, got, want)
		}
	}
}
