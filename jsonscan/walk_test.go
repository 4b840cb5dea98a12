package jsonscan

import (
	"bytes"
	"testing"
)

// FuzzScan holds the functions that look at many bytes at once against those
// that look at one, on anything.
func FuzzScan(f *testing.F) {
	for _, s := range []string{`{"a":[1,"b\"c",true] , "long key \\":"a string of more than eight bytes"}`, `"`, `"\`, `"1234567\`, `"1234567\"`,
		`"12345678"`, `]`, `:1`, `[{"a":`, ` [ 1 , 2 ] `, `"é\u00e9"`, "\"\xa2\xdc\"", `nul`, `-0.0e+10]`} {
		f.Add([]byte(s), uint8(0))
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, at uint8) {
		i := int(at)
		if got, want := SkipString(data, i), slowSkipString(data, i); got != want {
			t.Errorf("skipString(%q, %d) = %d, want %d", data, i, got, want)
		}
		if got, want := SkipValue(data, i), slowSkipValue(data, i); got != want {
			t.Errorf("skipValue(%q, %d) = %d, want %d", data, i, got, want)
		}
		if got, want := AppendMinified([]byte("x"), data), slowAppendMinified([]byte("x"), data); !bytes.Equal(got, want) {
			t.Errorf("appendMinified(%q) = %q, want %q", data, got, want)
		}
	})
}

func slowSkipString(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(data)
}

func slowSkipValue(data []byte, i int) int {
	depth := 0
	for i < len(data) {
		switch c := data[i]; c {
		case '"':
			i = slowSkipString(data, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\n', '\t', '\r':
			i++
			continue
		default:
			for i < len(data) && !IsSpace(data[i]) && data[i] != ',' && data[i] != ']' && data[i] != '}' && data[i] != ':' {
				i++
			}
		}
		if depth <= 0 {
			return i
		}
	}
	return len(data)
}

func slowAppendMinified(dst, data []byte) []byte {
	for i := 0; i < len(data); {
		switch c := data[i]; {
		case c == '"':
			end := slowSkipString(data, i)
			dst = append(dst, data[i:end]...)
			i = end
		case IsSpace(c):
			i++
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}
