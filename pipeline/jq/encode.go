package jq

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"

	"rlmproxy/pipeline/show"
)

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// appendTree encodes what a program put out: as gojq.Marshal does, but with
// a limit on depth and size, which a result of 1e6 levels needs, and without
// escapes that only some readers want.
func appendTree(dst []byte, v any, depth int) (_ []byte, err error) {
	if depth > maxDepth {
		return nil, &Error{Code: LimitMemory, Text: fmt.Sprintf("jq: the result nests deeper than %s levels", show.Count(maxDepth)),
			Hint: "flatten it, or put out less"}
	}
	if len(dst) > maxOutputBytes {
		return nil, tooLong()
	}
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case *big.Int:
		return v.Append(dst, 10), nil
	case json.Number:
		return append(dst, v...), nil
	case float64:
		if math.IsNaN(v) {
			return append(dst, "null"...), nil
		}
		v = min(max(v, -math.MaxFloat64), math.MaxFloat64)
		if x := math.Abs(v); x != 0 && (x < 1e-6 || x >= 1e21) {
			return strconv.AppendFloat(dst, v, 'e', -1, 64), nil
		}
		return strconv.AppendFloat(dst, v, 'f', -1, 64), nil
	case string:
		if len(v) > maxOutputBytes {
			return nil, tooLong()
		}
		return show.AppendQuote(dst, v), nil
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendTree(dst, e, depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case map[string]any:
		dst = append(dst, '{')
		for i, k := range sortedKeys(v) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(show.AppendQuote(dst, k), ':')
			if dst, err = appendTree(dst, v[k], depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case *object:
		return appendObject(dst, v, depth)
	}
	return nil, fmt.Errorf("jq: result of type %T", v)
}

func appendObject(dst []byte, o *object, depth int) (_ []byte, err error) {
	if len(o.vals) == 0 {
		return append(dst, "{}"...), nil
	}
	for i, v := range o.vals {
		if q := o.shape.quoted; q != nil {
			dst = append(dst, q[i]...)
		} else {
			sep := byte(',')
			if i == 0 {
				sep = '{'
			}
			dst = append(show.AppendQuote(append(dst, sep), o.shape.keys[i]), ':')
		}
		if dst, err = appendTree(dst, v, depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func tooLong() *Error {
	return &Error{Code: LimitMemory, Text: fmt.Sprintf("jq: the result is larger than %d MiB", maxOutputBytes>>20), Hint: "select fewer records or fields"}
}
