package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeaders(t *testing.T) {
	environ := []string{"TOKEN=sesame: 1", "EMPTY=", "LINES=a\nb"}
	for _, tt := range []struct {
		lines   []string
		want    map[string]string
		wantErr string
	}{
		{nil, map[string]string{}, ""},
		{[]string{"authorization:Bearer ${TOKEN}", " X-Key : a:b "}, map[string]string{"Authorization": "Bearer sesame: 1", "X-Key": "a:b"}, ""},
		{[]string{"X: ${NONE:-default}", "Y: ${env:TOKEN}"}, map[string]string{"X": "default", "Y": "sesame: 1"}, ""},
		{[]string{"Authorization=Bearer secret"}, nil, "there is no colon in it"},
		{[]string{"A: b", "Bearer secret"}, nil, "there is no colon in it (number 2 of 2)"},
		{[]string{"Bearer secret: x"}, nil, "what stands before the colon is no name of a header"},
		{[]string{": secret"}, nil, "what stands before the colon is no name of a header"},
		{[]string{"X: secret ${NONE}"}, nil, "X: ${NONE} is not set"},
		{[]string{"X: ${EMPTY}"}, nil, "X: the value is empty"},
		{[]string{"X: ${LINES}secret"}, nil, "X: a line end or another control character is in the value"},
		{[]string{"x: secret", "X: secret"}, nil, "X stands twice"},
	} {
		got, err := Headers(tt.lines, environ)
		if (err == nil) != (tt.wantErr == "") || err != nil && err.Error() != tt.wantErr || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %s", tt.lines, err, tt.wantErr)
		}
		if diff := cmp.Diff(tt.want, got); err == nil && diff != "" {
			t.Errorf("%q: %s", tt.lines, diff)
		}
	}
}
