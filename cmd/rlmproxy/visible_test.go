package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// TestVisibleWriter: lines of the audit log stay the same JSON, and steer no terminal.
func TestVisibleWriter(t *testing.T) {
	var out strings.Builder
	line := []byte("{\"client\":\"a\u009b2J\u202eb é\"}\n")
	n, err := visibleWriter{&out}.Write(line)
	var was, is any
	if err != nil || n != len(line) || json.Unmarshal(line, &was) != nil || json.Unmarshal([]byte(out.String()), &is) != nil || !reflect.DeepEqual(was, is) {
		t.Errorf("%d, %v: %q", n, err, out.String())
	}
	if got := out.String(); strings.ContainsAny(got, "\u009b\u202e") || !strings.Contains(got, "é") {
		t.Errorf("%q", got)
	}
}
