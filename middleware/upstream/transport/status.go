package transport

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A StatusError is a response that is no success and no JSON-RPC error. It
// repeats nothing that the server wrote, which may hold what we sent it.
type StatusError struct {
	Code  int
	Retry time.Duration // what the server asks to wait; 0: it does not say
}

func newStatusError(resp *http.Response) *StatusError {
	return &StatusError{resp.StatusCode, retryAfter(resp.Header.Get("Retry-After"), time.Now())}
}

// retryAfter reads seconds or a date (RFC 9110, 10.2.3), rounded up to seconds.
// What lies more than a day ahead, or is neither, is 0.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	wait := time.Duration(0)
	if n, err := strconv.ParseUint(value, 10, 32); err == nil {
		wait = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = (at.Sub(now) + time.Second - 1).Truncate(time.Second)
	}
	if wait < 0 || wait > 24*time.Hour {
		return 0
	}
	return wait
}

// WantsCredentials reports whether the server asks who we are, or does not like
// the answer.
func (e *StatusError) WantsCredentials() bool {
	return e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden || e.Code == http.StatusProxyAuthRequired
}

func (e *StatusError) Error() string {
	text := "HTTP " + strconv.Itoa(e.Code)
	if name := http.StatusText(e.Code); name != "" {
		text += " " + name
	}
	if e.WantsCredentials() {
		text += `; set credentials in its "headers", or with --header`
	}
	if e.Retry > 0 {
		text += fmt.Sprintf("; it asks to wait %d s", int(e.Retry.Seconds()))
	}
	return text
}

// Final reports whether a response says all that can be said: no other transport
// or revision would be answered otherwise.
func (e *StatusError) Final() bool {
	return e.WantsCredentials() || e.Code == http.StatusTooManyRequests
}

// Away reports whether what stands before the server answers for it, or it takes
// no requests now: it is to be tried again, and says nothing of transports.
func (e *StatusError) Away() bool {
	return e.Code == http.StatusBadGateway || e.Code == http.StatusServiceUnavailable || e.Code == http.StatusGatewayTimeout
}

// A SignInError is that the server takes requests from those who have signed in only, and
// nobody has, or not for this one.
type SignInError struct {
	Text string // what is wrong, for agents
	Hint string // who does what about it
	Log  string // both, for who reads the log, with paths
	Call bool   // the call alone is refused: others may do
}

func (e *SignInError) Error() string { return e.Log }
