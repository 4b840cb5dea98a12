//lint:file-ignore SA1019 clients and servers of the older revisions still use roots, sampling and logging

package session

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestLevelOfARequest: a level that a request names itself is checked like that of
// a session.
func TestLevelOfARequest(t *testing.T) {
	for level, ok := range map[string]bool{"debug": true, "emergency": true, "verbose": false, "none": false, "": false} {
		params := json.RawMessage(`{"uri":"x",` + `"_meta":{"` + mcp.MetaKeyLogLevel + `":"` + level + `"}` + `}`)
		r, err := newRequest(t.Context(), nil, "resources/read", params)
		if (err == nil) != ok || ok && r.Level != level || !ok && !strings.Contains(err.Error(), "is not one of") {
			t.Errorf("level %q: %v", level, err)
		}
	}
}
