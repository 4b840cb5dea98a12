package digest

import (
	"strings"
	"testing"

	"rlmproxy/pipeline/digest/digesttest"
)

func TestKind(t *testing.T) {
	for _, tt := range digesttest.Samples {
		if got := Kind([]byte(tt.Text)); got != tt.Kind {
			t.Errorf("%s: %s, want %s:\n%.200s", tt.Name, got, tt.Kind, tt.Text)
		}
		if crlf := strings.ReplaceAll(tt.Text, "\n", "\r\n"); Kind([]byte(crlf)) != tt.Kind {
			t.Errorf("%s, CRLF: %s, want %s", tt.Name, Kind([]byte(crlf)), tt.Kind)
		}
	}
	if len(digesttest.Samples) < 60 {
		t.Errorf("only %d samples", len(digesttest.Samples))
	}
}
