package jq

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
)

// add puts out one more value.
func (out *Output) add(v any) (err error) {
	if out.N++; out.N > maxOutputs {
		return &Error{Code: doc.LimitMemory, Text: fmt.Sprintf("jq: more than %s outputs", show.Count(maxOutputs)),
			Hint: "collect them with [ … ], count them with [ … ] | length, or take some with limit(100; …)"}
	}
	if out.Data, err = appendValue(out.Data, v, 0); err != nil {
		return err
	}
	if out.Data = append(out.Data, '\n'); len(out.Data) > maxOutputBytes {
		return tooLong()
	}
	return nil
}

// appendValue encodes what a program put out: as gojq.Marshal does, but with
// a limit on depth and size, which a result of 1e6 levels needs, and without
// escapes that only some readers want.
func appendValue(dst []byte, v any, depth int) (_ []byte, err error) {
	if depth > maxDepth {
		return nil, &Error{Code: doc.LimitMemory, Text: fmt.Sprintf("jq: the result nests deeper than %s levels", show.Count(maxDepth)),
			Hint: "flatten it, or output less"}
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
		return jsonscan.AppendQuote(dst, v), nil
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendValue(dst, e, depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case map[string]any:
		dst = append(dst, '{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(jsonscan.AppendQuote(dst, k), ':')
			if dst, err = appendValue(dst, v[k], depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	}
	return nil, fmt.Errorf("jq: result of type %T", v)
}

func tooLong() *Error {
	return &Error{Code: doc.LimitMemory, Text: fmt.Sprintf("jq: the result is larger than %d MiB", maxOutputBytes>>20), Hint: "select fewer records or fields"}
}
