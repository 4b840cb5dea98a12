package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"rlmproxy/config"
)

// TestMasks holds that a secret is found in the forms in which servers and errors quote it, a
// longer one before one that is part of it.
func TestMasks(t *testing.T) {
	key := "{\"type\": \"service<account>\",\n \"key\": \"-----BEGIN\\nSECRET\\n-----END\"}"
	inJSON, err := json.Marshal([]string{key})
	if err != nil {
		t.Fatal(err)
	}
	hide := masks([]config.Secret{"SECRET-a", config.Secret(key), "SECRET-a-and-more"})
	for _, text := range []string{
		"SECRET-a", "SECRET-a-and-more.", key, string(inJSON), fmt.Sprintf("%q", key),
		`'` + strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(key) + `'`, // as Python has it
	} {
		if got := hide(text); strings.Contains(got, "SECRET") || strings.Contains(got, "more") || !strings.Contains(got, "[redacted: secret]") {
			t.Errorf("%s\nbecomes %s", text, got)
		}
	}
}
