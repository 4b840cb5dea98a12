package middleware

import (
	"encoding/json"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/relay"
	"rlmproxy/middleware/session"
)

// A resource's own URI does not say whose it is, so several servers may be tried.
// One that requires input first gives its client a state, which goes back to it
// alone: the client gets it as "rlmproxy-at:" and the server's scheme, with "=" and
// the state if there was one.
const atPrefix = "rlmproxy-at:"

// placesWithState narrows places to the server that r goes on with, and returns the params
// that are for it. A request that begins has none to go on with and keeps both.
func (s *Server) placesWithState(r *session.Request, places []place) ([]place, json.RawMessage, error) {
	has, state := jsonscan.Member(r.Params, "requestState") != nil, stringOf(r.Params, "requestState")
	if len(places) < 2 || !has && jsonscan.Member(r.Params, "inputResponses") == nil {
		return places, r.Params, nil
	}
	unknown := session.InvalidParams("requestState does not come from a server that was asked for this resource")
	if list := s.relay.Deferred(); list.Gave(state) {
		server := list.Server(state, r.Session.Agent)
		for _, p := range places {
			if server == p.up.Name {
				return []place{p}, r.Params, nil
			}
		}
		return nil, nil, unknown
	}
	name, own, gave := strings.Cut(strings.TrimPrefix(state, atPrefix), "=")
	for _, p := range places {
		if !strings.HasPrefix(state, atPrefix) || s.scheme(p.up) != name {
			continue
		}
		var value json.RawMessage // nil: it gave none
		if gave {
			value = jsonscan.Quote(own)
		}
		params, err := withState(r.Params, value)
		return []place{p}, params, err
	}
	return nil, nil, unknown
}

// markState notes in a result that requires input which server it is of. Other results,
// and those of deferred requests, stay as they are.
func (s *Server) markState(raw json.RawMessage, up *Upstream) (json.RawMessage, error) {
	if !relay.WantsInput(raw) {
		return raw, nil
	}
	mark := atPrefix + s.scheme(up)
	if jsonscan.Member(raw, "requestState") != nil {
		state := stringOf(raw, "requestState")
		if s.relay.Deferred().Has(state) {
			return raw, nil
		}
		mark += "=" + state
	}
	return withState(raw, jsonscan.Quote(mark))
}

// withState is an object with another requestState, nil being none.
func withState(object, state json.RawMessage) (json.RawMessage, error) {
	out, err := jsonscan.Rewrite(object, func(key string, value json.RawMessage) json.RawMessage {
		if key == "requestState" {
			return nil
		}
		return value
	})
	if err != nil || state == nil {
		return out, err
	}
	return jsonscan.With(out, "requestState", state), nil
}
