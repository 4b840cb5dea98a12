package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"

	"rlmproxy/pipeline/show"
)

// parseTree decodes in as gojq wants it, numbers as they are spelt. The size
// is an estimate: maps and boxed values take about six times the text.
func parseTree(ctx context.Context, in Value) (any, int64, error) {
	size := 6 * int64(len(in.Data))
	if in.Kind == JSON {
		tree, err := decodeTree(in.Data)
		return tree, size, err
	}
	list := []any{}
	t := ticker{ctx: ctx}
	for line := range records(in.Data) {
		v, err := decodeTree(line)
		if err == nil {
			err = t.err()
		}
		if err != nil {
			return nil, 0, err
		}
		list = append(list, v)
	}
	return list, size, nil
}

// textTree is the records of CSV and TSV, and any other text as a string. It
// is built behind a memo, so it does not ask for the records there.
func textTree(ctx context.Context, in Value) (any, int64, error) {
	if sep := csvSeparator(in); sep != 0 {
		records, err := readCSV(ctx, in.Data, sep)
		if err != nil {
			return nil, 0, err
		}
		return parseTree(ctx, records)
	}
	s := utf8Text(in.Data)
	return s, int64(len(s)), nil
}

func decodeTree(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("parse document: %w", err)
	}
	return v, nil
}

// cloneTree copies what gojq may write to: containers, not scalars.
func cloneTree(v any) any {
	switch v := v.(type) {
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = cloneTree(e)
		}
		return c
	case map[string]any:
		c := make(map[string]any, len(v))
		for k, e := range v {
			c[k] = cloneTree(e)
		}
		return c
	}
	return v
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
		return nil, &Error{Code: LimitMemory, Text: "jq: the result is larger than 32 MiB", Hint: "select fewer records or fields"}
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
		return appendString(dst, v), nil
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
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, k), ':')
			if dst, err = appendTree(dst, v[k], depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	}
	return nil, fmt.Errorf("jq: result of type %T", v)
}
