package jq

import "context"

// A converter turns trees into what gojq takes, maps for objects, and back.
// Containers are new, for gojq writes to some; scalars are shared.
type converter struct {
	shapes shapes
	// ended is asked at each container whether to go on, with the number of
	// values that it has. Nil: always.
	ended func(values int) error
}

// out is v as gojq takes it.
func (c *converter) out(v any) (any, error) {
	switch v := v.(type) {
	case []any:
		if err := c.on(len(v)); err != nil {
			return nil, err
		}
		list := make([]any, len(v))
		for i, e := range v {
			var err error
			if list[i], err = c.out(e); err != nil {
				return nil, err
			}
		}
		return list, nil
	case *object:
		if err := c.on(len(v.vals)); err != nil {
			return nil, err
		}
		m := make(map[string]any, len(v.vals))
		for i, k := range v.shape.keys {
			e, err := c.out(v.vals[i])
			if err != nil {
				return nil, err
			}
			m[k] = e
		}
		return m, nil
	}
	return v, nil
}

// in is what gojq gave, with objects for maps.
func (c *converter) in(v any) (any, error) {
	switch v := v.(type) {
	case []any:
		if err := c.on(len(v)); err != nil {
			return nil, err
		}
		list := make([]any, len(v))
		for i, e := range v {
			var err error
			if list[i], err = c.in(e); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		if err := c.on(len(v)); err != nil {
			return nil, err
		}
		keys, vals := sortedKeys(v), make([]any, 0, len(v))
		for _, k := range keys {
			e, err := c.in(v[k])
			if err != nil {
				return nil, err
			}
			vals = append(vals, e)
		}
		return c.shapes.object(keys, vals), nil
	}
	return v, nil
}

func (c *converter) on(values int) error {
	if c.ended == nil {
		return nil
	}
	return c.ended(values + 1)
}

// maps is the tree as gojq takes it, a new one each time.
func (t *Tree) maps(s *stop) (any, error) {
	n := 0
	c := converter{ended: func(values int) error {
		if n += values; n > pollEvery {
			n = 0
			if s.now.Load() {
				return context.Canceled
			}
		}
		return nil
	}}
	return c.out(t.value)
}
