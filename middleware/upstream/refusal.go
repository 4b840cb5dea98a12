package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"rlmproxy/middleware/wire"
)

// A statusError is a response that is no success and no JSON-RPC error. It
// repeats nothing that the server wrote, which may hold what we sent it.
type statusError struct {
	code  int
	retry time.Duration // what the server asks to wait; 0: it does not say
}

func newStatusError(resp *http.Response) *statusError {
	return &statusError{resp.StatusCode, retryAfter(resp.Header.Get("Retry-After"), time.Now())}
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

// wantsCredentials reports whether the server asks who we are, or does not like
// the answer.
func (e *statusError) wantsCredentials() bool {
	return e.code == http.StatusUnauthorized || e.code == http.StatusForbidden || e.code == http.StatusProxyAuthRequired
}

func (e *statusError) Error() string {
	text := "HTTP " + strconv.Itoa(e.code)
	if name := http.StatusText(e.code); name != "" {
		text += " " + name
	}
	if e.wantsCredentials() {
		text += `; "headers" in its configuration, or --header, set credentials`
	}
	if e.retry > 0 {
		text += fmt.Sprintf("; it asks to wait %d s", int(e.retry.Seconds()))
	}
	return text
}

// final reports whether a response says all that can be said: no other transport
// or revision would be answered otherwise.
func (e *statusError) final() bool {
	return e.wantsCredentials() || e.code == http.StatusTooManyRequests
}

// away reports whether what stands before the server answers for it, or it takes
// no requests now: it is to be tried again, and says nothing of transports.
func (e *statusError) away() bool {
	return e.code == http.StatusBadGateway || e.code == http.StatusServiceUnavailable || e.code == http.StatusGatewayTimeout
}

// refusal is the status that err is all about, or nil.
func refusal(err error) *statusError {
	var e *statusError
	if errors.As(err, &e) && (e.final() || error(e) == err) {
		return e
	}
	return nil
}

// An UnavailableError reports a call to a server that cannot be reached now, or
// was lost while the call ran.
type UnavailableError struct {
	Server string
	Lost   bool // the call had been sent: it may have taken effect
	Err    error
}

func (e *UnavailableError) Error() string {
	if status := refusal(e.Err); status != nil && !errors.Is(e.Err, wire.ErrClosed) {
		if status.code/100 == 5 {
			return fmt.Sprintf("server %q answered %v", e.Server, status)
		}
		return fmt.Sprintf("server %q refused us: %v", e.Server, status)
	}
	if errors.Is(e.Err, wire.ErrBadAnswer) {
		return fmt.Sprintf("server %q sent a %v", e.Server, e.Err)
	}
	if e.Lost {
		return fmt.Sprintf("server %q ended while the call ran: %v", e.Server, e.Err)
	}
	return fmt.Sprintf("server %q is not available: %v", e.Server, e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// Hint is what to do about it where trying again at once would not help, or "".
func (e *UnavailableError) Hint() string {
	status := refusal(e.Err)
	var bad *startError
	switch {
	case errors.As(e.Err, &bad):
		return "tell the operator: it cannot be started as it is configured"
	case e.Lost && errors.Is(e.Err, wire.ErrBadAnswer): // it goes on
		return "check what the call did before you repeat it"
	case status == nil || errors.Is(e.Err, wire.ErrClosed):
		return ""
	case status.wantsCredentials():
		return "tell the operator: calls fail until its credentials are right"
	}
	hint := ""
	if status.code == http.StatusRequestEntityTooLarge {
		hint = "send less: the server takes no request of this size"
	} else if status.retry > 0 {
		hint = fmt.Sprintf("wait %d s, then try again", int(status.retry.Seconds()))
	} else if status.code == http.StatusTooManyRequests {
		hint = "wait a while, then try again"
	}
	if e.Lost {
		return strings.TrimPrefix(hint+"; check what the call did before you repeat it", "; ")
	}
	return hint
}

// withoutURL is err without the URL of its request, which may hold a secret.
func withoutURL(err error) error {
	var in *url.Error
	if errors.As(err, &in) {
		return in.Err
	}
	return err
}
