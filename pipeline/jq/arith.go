package jq

import (
	"encoding/json"
	"math"

	"github.com/itchyny/gojq"
)

// inGo is x op y in gojq, for what is rare: large integers, and errors.
func (r *runner) inGo(op string, x, y any) any {
	code := r.ops[op]
	if code == nil {
		query, err := gojq.Parse("$x " + op + " $y")
		if err == nil {
			code, err = gojq.Compile(query, gojq.WithVariables([]string{"$x", "$y"}))
		}
		if err != nil {
			panic(giveUp{errGiveUp})
		}
		if r.ops == nil {
			r.ops = map[string]*gojq.Code{}
		}
		r.ops[op] = code
	}
	v, _ := code.RunWithContext(r.stop, nil, r.toGo(x), r.toGo(y)).Next()
	if err, failed := v.(error); failed {
		r.failed(err)
	}
	return r.fromGo(v)
}

// spelt is a number after null was added to it; gojq computes with it.
func (r *runner) spelt(v any) any {
	if v = parsed(v); v == nil {
		return nil
	}
	if _, rest := v.(json.Number); rest {
		return r.inGo("+", v, nil)
	}
	return v
}

// merge is x + y: the members of both, y's where both have one.
func (r *runner) merge(x, y *object) *object {
	if x.shape == y.shape {
		return y
	}
	n := len(x.vals) + len(y.vals)
	keys, vals := make([]string, 0, n), make([]any, 0, n)
	a, b := x.shape.keys, y.shape.keys
	for i, j := 0, 0; i < len(a) || j < len(b); {
		r.step()
		if j == len(b) || i < len(a) && a[i] < b[j] {
			keys, vals = append(keys, a[i]), append(vals, x.vals[i])
			i++
			continue
		}
		if i < len(a) && a[i] == b[j] {
			i++
		}
		keys, vals = append(keys, b[j]), append(vals, y.vals[j])
		j++
	}
	return r.conv.shapes.object(keys, vals)
}

func (r *runner) minus(x, y any) any {
	if a, b, ok := ints(x, y); ok {
		if c := a - b; (c <= a) == (b >= 0) {
			return c
		}
		return r.inGo("-", x, y)
	}
	if a, b, ok := floats(x, y); ok {
		return a - b
	}
	list, ok := x.([]any)
	without, both := y.([]any)
	if !ok || !both {
		return r.inGo("-", x, y)
	}
	kept := make([]any, 0, len(list))
next:
	for _, e := range list {
		for _, w := range without {
			r.step()
			if r.compare(e, w) == 0 {
				continue next
			}
		}
		kept = append(kept, e)
	}
	return kept
}

func (r *runner) times(x, y any) any {
	if a, b, ok := ints(x, y); ok {
		if b == -1 && a != math.MinInt {
			return -a
		}
		if c := a * b; b == 0 || b != -1 && c/b == a {
			return c
		}
		return r.inGo("*", x, y)
	}
	if a, b, ok := floats(x, y); ok {
		return a * b
	}
	return r.inGo("*", x, y)
}

func (r *runner) divide(x, y any) any {
	if a, b, ok := ints(x, y); ok && b != 0 && b != -1 {
		if a%b == 0 {
			return a / b
		}
		return float64(a) / float64(b)
	}
	if a, b, ok := floats(x, y); ok && b != 0 && b != -1 {
		return a / b
	}
	return r.inGo("/", x, y)
}

func (r *runner) modulo(x, y any) any {
	if a, b, ok := ints(x, y); ok && b != 0 && b != -1 {
		return a % b
	}
	return r.inGo("%", x, y)
}
