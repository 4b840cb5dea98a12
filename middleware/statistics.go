package middleware

import (
	"encoding/json"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/shape"
	"rlmproxy/middleware/stats"
)

// statsURI is the resource of what the proxy has counted.
const statsURI = shape.HandleScheme + "stats"

// statsItem is that resource in a list.
const statsItem = `{"uri":"` + statsURI + `","name":"rlmproxy-stats","description":"What the proxy saved: tokens, calls, errors, latency, by server and tool.","mimeType":"application/json"}`

// digest is what was counted, as far as the agent of r may see it. Options.Stats must not be nil.
func (s *Server) digest(r *session.Request) *stats.Digest {
	report, v := s.opts.Stats(), s.viewOf(r)
	if v.all() {
		return report.Digest(nil)
	}
	type tool struct{ server, name string }
	may := map[tool]bool{}
	for _, t := range s.names.all() {
		if v.tool(t.up, t.tool.Name) {
			may[tool{t.up.Name, t.exposed}] = true
		}
	}
	return report.Digest(func(server, name string) bool {
		if strings.Contains(name, "/") { // a method
			up := s.upstream(server)
			return up != nil && v.server(up)
		}
		return may[tool{server, name}]
	})
}

// readStats answers resources/read of statsURI, cut like any resource.
func (s *Server) readStats(r *session.Request) (json.RawMessage, error) {
	if s.opts.Stats == nil {
		return nil, notFound(statsURI)
	}
	text, err := json.Marshal(s.digest(r))
	if err != nil {
		return nil, err
	}
	contents := jsonscan.With(jsonscan.Object("uri", jsonscan.Quote(statsURI)), "mimeType", []byte(`"application/json"`))
	contents = jsonscan.With(contents, "text", jsonscan.Quote(string(text)))
	raw := jsonscan.Object("contents", append(append([]byte{'['}, contents...), ']'))
	return s.shaper.Resource(r.Session.Agent, statsURI, raw, shape.Policy{})
}

// offersStats reports whether agents are told that they can read what was counted.
func (s *Server) offersStats() bool { return s.opts.StatsTool && s.opts.Stats != nil }

// withStats is the first page of a list of resources with that of the statistics.
func (s *Server) withStats(r *session.Request, page json.RawMessage) (json.RawMessage, error) {
	if !s.offersStats() || cursorOf(r.Params).Exists() {
		return page, nil
	}
	found := false
	page, err := jsonscan.Rewrite(page, func(key string, value json.RawMessage) json.RawMessage {
		if key != "resources" || found || value[0] != '[' {
			return value
		}
		found = true
		list := jsonscan.AppendElement([]byte{'['}, json.RawMessage(statsItem))
		_ = jsonscan.Elements(value, func(item json.RawMessage) error {
			list = jsonscan.AppendElement(list, item)
			return nil
		})
		return append(list, ']')
	})
	return page, err
}
