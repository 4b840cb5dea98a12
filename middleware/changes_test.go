package middleware

import (
	"fmt"

	"rlmproxy/middleware/upstream"
)

// change has a server connect again with another tool, and with another prompt if it can
// have any.
func (f *fake) change() {
	more := func(list []upstream.Tool) []upstream.Tool {
		name := fmt.Sprintf("more%d", len(list)) // beside the others, which stay as they are
		raw := fmt.Appendf(nil, `{"name":%q,"inputSchema":{"type":"object"}}`, name)
		return append(list[:len(list):len(list)], upstream.Tool{Name: name, Raw: raw})
	}
	f.tools = more(f.tools)
	if f.info != nil {
		again := *f.info
		f.info = &again
		if c := f.info.Capabilities; c != nil && c.Prompts != nil {
			f.prompts = more(f.prompts)
		}
	}
}
