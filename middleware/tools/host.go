package tools

import (
	"context"
	"encoding/json"
	"fmt"

	"rlmproxy/pipeline"
)

// A host does what a program asks for.
type host struct{ call *call }

// Call implements [script.Host].
func (h *host) Call(ctx context.Context, function string, args []json.RawMessage) (json.RawMessage, error) {
	return nil, &pipeline.Error{Code: pipeline.BadArguments, Text: fmt.Sprintf("there is no function %s", function)}
}
