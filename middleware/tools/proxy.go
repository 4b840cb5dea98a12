package tools

import (
	"context"
	"encoding/json"
	"strings"

	"rlmproxy/middleware/shape"
	"rlmproxy/pipeline"
)

// ProxyNames are those of our tools that are there where their operator has switched them on.
var ProxyNames = []string{"proxy_ask", "proxy_run", "proxy_stats", "proxy_upstreams", "proxy_tools"}

// codeOff is that of a call of a tool that is not switched on: to the agent it is not there.
const codeOff = "unknown_tool"

// off is why a tool of ProxyNames does not answer.
func off(tool, setting string) error {
	return &pipeline.Error{Code: codeOff, Text: tool + " is switched off", Hint: `the operator can set "` + setting + `" in proxySettings`}
}

// statistics is proxy_stats: what the proxy saved.
type statistics struct{}

func (*statistics) params() []param { return nil }

func (*statistics) answer(_ context.Context, c *call) (json.RawMessage, error) {
	if c.reach.Statistics == nil {
		return nil, off(c.tool, "enableStatsTool")
	}
	return c.says(c.reach.Statistics())
}

// says answers with lines of our own.
func (c *call) says(text string) (json.RawMessage, error) {
	n := strings.Count(text, "\n") + 1
	return c.own(shape.Answer{Value: pipeline.Value{Kind: pipeline.Text, Data: []byte(text), Items: n, Total: n, Unit: "lines"}, Printed: true})
}
