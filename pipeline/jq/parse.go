package jq

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// parse reads a document into the values of gojq. Numbers stay as they are
// spelled.
func parse(kind Kind, data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	switch kind {
	case Text:
		return validText(data), nil
	case JSON:
		var v any
		if err := d.Decode(&v); err != nil {
			return nil, parseError(err)
		}
		if _, err := d.Token(); err != io.EOF {
			return nil, parseError(errors.New("more than one value"))
		}
		return v, nil
	case Lines:
		values := []any{}
		for {
			var v any
			if err := d.Decode(&v); err == io.EOF {
				return values, nil
			} else if err != nil {
				return nil, parseError(err)
			}
			values = append(values, v)
		}
	}
	return nil, fmt.Errorf("jq: no kind %d", kind)
}

func parseError(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("jq: parse document: %w", err)
}

// validText is data with U+FFFD for each byte that is not UTF-8, as JSON
// decoders have it.
func validText(data []byte) string {
	if utf8.Valid(data) {
		return string(data)
	}
	return string(bytes.Runes(data))
}
