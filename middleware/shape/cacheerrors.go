package shape

import (
	"errors"
	"fmt"

	"rlmproxy/cache"
	"rlmproxy/pipeline"
)

// The codes of errors about cache IDs.
const (
	codeUnknownID = "unknown_cache_id"
	codeExpiredID = "expired_cache_id"
	codeEvictedID = "evicted_cache_id"
)

// explained tells an agent what became of an id that the cache has nothing for.
// Other errors stay as they are.
func explained(err error) error {
	var gone *cache.GoneError
	switch {
	case errors.As(err, &gone):
		e := &pipeline.Error{Err: err, Hint: "call " + origin(gone.Origin) + " to get it back",
			Code: codeExpiredID, Text: fmt.Sprintf("cache_id %s has expired: it was not read for a while", gone.ID)}
		if gone.Reason == cache.Evicted {
			e.Code, e.Text = codeEvictedID, fmt.Sprintf("cache_id %s was evicted to make room for newer results", gone.ID)
		}
		return e
	case errors.Is(err, cache.ErrUnknown):
		return &pipeline.Error{Err: err, Code: codeUnknownID, Text: "no result of yours has this cache_id",
			Hint: "copy the cache_id from a reply's first line, or call the tool again"}
	}
	return err
}

// origin is the call that a gone answer came from, ready to send.
func origin(o cache.Origin) string {
	switch {
	case o.Tool == "":
		return "the tool again"
	case len(o.Arguments) == 0:
		return o.Tool + " with the same arguments"
	}
	return o.Tool + " " + string(o.Arguments)
}
