package shape

import (
	"errors"
	"fmt"
	"time"

	"rlmproxy/cache"
	"rlmproxy/fleet"
	"rlmproxy/middleware/frame"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// The codes of errors about cache IDs.
const (
	codeUnknownID = "unknown_cache_id"
	CodeExpiredID = "expired_cache_id"
	CodeEvictedID = "evicted_cache_id"
	codeStoreAway = "store_unavailable"
)

// StoreAway is the error for what cannot be answered while the store that replicas share is
// away.
func StoreAway(away *fleet.AwayError) *pipeline.Error {
	return &pipeline.Error{Err: away, Code: codeStoreAway, Text: "the shared store does not answer", Hint: "try again in " + spelled(away.Retry)}
}

// explained tells an agent what became of an id that the cache has nothing for. To make the
// call again is advised only where that changes nothing. Other errors stay as they are.
func explained(err error) error {
	var gone *cache.GoneError
	var away *fleet.AwayError
	switch {
	case errors.As(err, &away):
		return StoreAway(away)
	case errors.As(err, &gone):
		e := &pipeline.Error{Err: err, Code: CodeExpiredID, Text: fmt.Sprintf("cache_id %s has expired: it was not read for %s", gone.ID, spelled(gone.TTL))}
		if gone.Reason == cache.Evicted {
			e.Code, e.Text = CodeEvictedID, fmt.Sprintf("cache_id %s was evicted to make room for newer results", gone.ID)
		}
		switch o := gone.Origin; {
		case o.ReadOnly:
			e.Hint = "call " + callOf(o) + " to get it back"
		case o.Tool == "":
			e.Hint = "repeat the call only if it changes nothing"
		default:
			e.Text += "; it was the result of " + show.ClipBytes(frame.OneLine(callOf(o)), 300)
			e.Hint = "its tool is not declared read-only: another call would act again"
		}
		return e
	case errors.Is(err, cache.ErrUnknown):
		return &pipeline.Error{Err: err, Code: codeUnknownID, Text: "you have no result with this cache_id",
			Hint: "copy the cache_id from a reply's first line, or repeat the call if it only reads"}
	}
	return err
}

// spelled is d in words, with its largest whole unit: 5 minutes, 90 seconds.
func spelled(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return show.Plural(int(d/time.Hour), "hours")
	case d >= time.Minute && d%time.Minute == 0:
		return show.Plural(int(d/time.Minute), "minutes")
	case d >= time.Second:
		return show.Plural(int(d/time.Second), "seconds")
	}
	return d.String()
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
	return tool + " is not declared read-only: another call would act again"
}

// callOf is the call that a gone answer came from, ready to send.
func callOf(o cache.Origin) string {
	if len(o.Arguments) == 0 {
		return o.Tool + " with the same arguments"
	}
	return o.Tool + " " + string(o.Arguments)
}
