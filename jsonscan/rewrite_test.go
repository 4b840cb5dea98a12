package jsonscan

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
)

func TestRewrite(t *testing.T) {
	for _, c := range []struct{ in, drop, want string }{
		{`{}`, "", `{}`},
		{` { } `, "", `{ }`},
		{` { "a" : 1 , "b":2 } `, "", `{ "a" : 1 , "b":2 }`},
		{`{ "a" : 1 , "b":2 }`, "a", `{"b":2 }`},
		{`{ "a" : 1 , "b":2 }`, "b", `{ "a" : 1 }`},
		{`{ "a" : 1 , "b":2 }`, "ab", `{ }`},
		{`{"a":1,"b":2,"c":3}`, "b", `{"a":1,"c":3}`},
		{`{"a":1,"b":2,"a":3}`, "a", `{"b":2}`},
		{"{\"\\u0061\":1.0,\t\"\\u00e9<\":\"é\"}", "", "{\"\\u0061\":1.0,\t\"\\u00e9<\":\"é\"}"},
	} {
		got, err := Rewrite([]byte(c.in), func(key string, value json.RawMessage) json.RawMessage {
			if slices.Contains([]byte(c.drop), key[0]) {
				return nil
			}
			return value
		})
		if err != nil || string(got) != c.want {
			t.Errorf("%s without %q: %s, %v, want %s", c.in, c.drop, got, err, c.want)
		}
	}
}

// FuzzRewrite: what is not touched keeps its bytes, and what is left over is an
// object of the members that were kept, to which one can be added.
func FuzzRewrite(f *testing.F) {
	f.Add([]byte(` { "a" : 1 , "b" : [ 2 ] , "" : {} } `), uint(1))
	f.Add([]byte(`{"a":1,"a":2,"\u0061":"\ud800"}`), uint(5))
	f.Add([]byte("{\n}"), uint(0))
	f.Fuzz(func(t *testing.T, in []byte, drop uint) {
		same, err := Rewrite(in, func(_ string, value json.RawMessage) json.RawMessage { return value })
		if err != nil {
			return
		}
		if want := bytes.Trim(in, " \t\r\n"); !bytes.Equal(same, want) {
			t.Fatalf("%q became %q", want, same)
		}
		var keys []string
		var values [][]byte
		n := 0
		out, err := Rewrite(in, func(key string, value json.RawMessage) json.RawMessage {
			n++
			if drop>>(n%64)&1 == 1 {
				return nil
			}
			if n%3 == 0 {
				value = json.RawMessage(`"other"`)
			}
			keys, values = append(keys, key), append(values, value)
			return value
		})
		if err != nil {
			t.Fatal(err)
		}
		out = append(AppendMember(out[:len(out)-1], "added", []byte("0")), '}')
		keys, values = append(keys, "added"), append(values, []byte("0"))
		i := 0
		err = Members(out, func(key string, value json.RawMessage) error {
			if i == len(keys) || key != keys[i] || !bytes.Equal(value, values[i]) {
				t.Fatalf("%q became %q: member %d", in, out, i)
			}
			i++
			return nil
		})
		if err != nil || i != len(keys) || !json.Valid(out) {
			t.Fatalf("%q became %q: %d members of %d, %v", in, out, i, len(keys), err)
		}
	})
}

// TestAppend: what is put together is what encoding/json would write.
func TestAppend(t *testing.T) {
	list := []byte(`{"list":[`)
	for _, v := range []string{`[]`, `"["`, `1`} {
		list = AppendElement(list, []byte(v))
	}
	if got, want := string(append(list, "]}"...)), `{"list":[[],"[",1]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := string(Object("a\n", []byte(`{}`))), `{"a\n":{}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
