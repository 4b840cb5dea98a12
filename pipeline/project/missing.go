package project

import (
	"context"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/schema"
)

// missing is the error for the first path of m that led nowhere. In a
// document without any record, nothing is missing.
func missing(ctx context.Context, in doc.Value, m *mask) error {
	for _, path := range m.paths {
		node := m
		for _, s := range path {
			node = node.child(s)
		}
		if len(path) == 0 || node.hits > 0 {
			continue
		}
		known, err := schema.KnownPaths(ctx, in)
		if err != nil {
			return err
		}
		if len(known) == 0 {
			return nil
		}
		return doc.NoSuchPath(path, known)
	}
	return nil
}
