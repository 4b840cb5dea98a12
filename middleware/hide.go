package middleware

import (
	"bytes"
	"context"
	"encoding/json"

	"rlmproxy/middleware/wire"
	"rlmproxy/pipeline"
)

// hide takes the fields out of a result that its tool's policy never shows:
// before it is counted, cached or passed on, so that no later call can show
// them. A result that has none keeps its bytes. What cannot be searched for
// them is an error, and nothing of it is shown.
func (s *Server) hide(ctx context.Context, raw json.RawMessage, p Policy) (json.RawMessage, error) {
	if len(p.Hide) == 0 {
		return raw, nil
	}
	fields, err := pipeline.NewHide(p.Hide)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.QueryTimeout)
	defer cancel()
	h := hider{ctx, fields}
	known := false
	out, err := h.members(raw, func(key string, value json.RawMessage) (json.RawMessage, error) {
		switch key {
		case "content":
			known = true
			return h.blocks(value)
		case "structuredContent":
			known = true
			return h.document(value)
		}
		return value, nil
	})
	if err == nil && !known {
		return h.document(raw)
	}
	return out, err
}

type hider struct {
	ctx    context.Context
	fields *pipeline.Hide
}

func (h hider) document(data json.RawMessage) (json.RawMessage, error) {
	return h.fields.Document(h.ctx, data)
}

// text is document for a JSON string.
func (h hider) text(quoted json.RawMessage) (json.RawMessage, error) {
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		return quoted, nil // not a string: no document
	}
	was := []byte(text)
	kept, err := h.fields.Document(h.ctx, was)
	if err != nil || bytes.Equal(kept, was) {
		return quoted, err
	}
	return quote(string(kept))
}

func (h hider) blocks(content json.RawMessage) (json.RawMessage, error) {
	if content[0] != '[' {
		return h.document(content)
	}
	out := []byte{'['}
	err := wire.Elements(content, func(b json.RawMessage) error {
		kept, err := h.block(b)
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, kept...)
		return err
	})
	return append(out, ']'), err
}

func (h hider) block(raw json.RawMessage) (json.RawMessage, error) {
	if raw[0] != '{' {
		return h.document(raw)
	}
	var kind string
	_ = wire.Members(raw, func(key string, value json.RawMessage) error {
		if key == "type" {
			_ = json.Unmarshal(value, &kind)
		}
		return nil
	})
	switch kind {
	case "text":
		return h.members(raw, h.textMember)
	case "resource":
		return h.members(raw, func(key string, value json.RawMessage) (json.RawMessage, error) {
			if key == "resource" && value[0] == '{' {
				return h.members(value, h.textMember)
			}
			return value, nil
		})
	case "image", "audio", "resource_link":
		return raw, nil
	}
	return h.document(raw)
}

func (h hider) textMember(key string, value json.RawMessage) (json.RawMessage, error) {
	if key == "text" {
		return h.text(value)
	}
	return value, nil
}

// members is wire.Rewrite with errors, and returns raw itself where f changes
// nothing.
func (h hider) members(raw json.RawMessage, f func(key string, value json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	var failed error
	changed := false
	out, err := wire.Rewrite(raw, func(key string, value json.RawMessage) json.RawMessage {
		if failed != nil {
			return value
		}
		kept, err := f(key, value)
		if err != nil {
			failed = err
			return value
		}
		changed = changed || !bytes.Equal(kept, value)
		return kept
	})
	switch {
	case failed != nil:
		return nil, failed
	case err != nil:
		return nil, err
	case !changed:
		return raw, nil
	}
	return out, nil
}
