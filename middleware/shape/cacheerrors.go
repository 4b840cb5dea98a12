package shape

import (
	"errors"
	"fmt"

	"rlmproxy/cache"
	"rlmproxy/middleware/frame"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// The codes of errors about cache IDs.
const (
	codeUnknownID = "unknown_cache_id"
	CodeExpiredID = "expired_cache_id"
	CodeEvictedID = "evicted_cache_id"
)

// explained tells an agent what became of an id that the cache has nothing for. To make the
// call again is advised only where that changes nothing. Other errors stay as they are.
func explained(err error) error {
	var gone *cache.GoneError
	switch {
	case errors.As(err, &gone):
		e := &pipeline.Error{Err: err, Code: CodeExpiredID, Text: fmt.Sprintf("cache_id %s has expired: it was not read for a while", gone.ID)}
		if gone.Reason == cache.Evicted {
			e.Code, e.Text = CodeEvictedID, fmt.Sprintf("cache_id %s was evicted to make room for newer results", gone.ID)
		}
		switch o := gone.Origin; {
		case o.ReadOnly:
			e.Hint = "call " + callOf(o) + " to get it back"
		case o.Tool == "":
			e.Hint = "a call that only reads can be made again; one that changes something would do so again"
		default:
			e.Text += "; it was the result of " + show.ClipBytes(frame.OneLine(callOf(o)), 300)
			e.Hint = "that call made again acts again: its tool is not declared read-only"
		}
		return e
	case errors.Is(err, cache.ErrUnknown):
		return &pipeline.Error{Err: err, Code: codeUnknownID, Text: "no result of yours has this cache_id",
			Hint: "copy the cache_id from a reply's first line; a call that only reads can also be made again"}
	}
	return err
}

// Gone is the error in err that says of a cache_id that its result has expired or was
// evicted, or nil.
func Gone(err error) *pipeline.Error {
	var e *pipeline.Error
	var gone *cache.GoneError
	if errors.As(err, &e) && errors.As(e.Err, &gone) {
		return e
	}
	return nil
}

// ActsAgain warns of a call of a tool that is not known to change nothing.
func ActsAgain(tool string) string {
	return tool + " is not declared read-only, and a call acts again"
}

// callOf is the call that a gone answer came from, ready to send.
func callOf(o cache.Origin) string {
	if len(o.Arguments) == 0 {
		return o.Tool + " with the same arguments"
	}
	return o.Tool + " " + string(o.Arguments)
}
