package redact

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// TestHandler: no secret is logged, wherever a record has it.
func TestHandler(t *testing.T) {
	var out strings.Builder
	log := slog.New(Handler(slog.NewTextHandler(&out, nil), All))
	log.Info("started with " + pat)
	log.With("of", pat).WithGroup("g").Info("m", "line", "T="+pat, "error", errors.New("401 "+jwt), "n", 3, slog.Group("x", "y", akia), "raw", []string{pat})
	for _, secret := range []string{pat, jwt, akia} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("logged: %s", out.String())
		}
	}
	for _, want := range []string{`msg="started with [redacted: github-pat]"`, `of="[redacted: github-pat]"`, `g.error="401 [redacted: jwt]"`, "g.n=3", `g.x.y="[redacted: aws-access-token]"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is not in %s", want, out.String())
		}
	}
}
