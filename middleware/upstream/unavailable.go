package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"rlmproxy/middleware/frame"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream/process"
	"rlmproxy/middleware/upstream/transport"
)

// An UnavailableError reports a call to a server that cannot be reached now, or
// was lost while the call ran.
type UnavailableError struct {
	Server string
	Lost   bool // the call had been sent: it may have taken effect
	Err    error
}

// A retryError is why an upstream has failed, and when it is tried again.
type retryError struct {
	error
	in time.Duration // 0: it is being tried
}

func (e *retryError) Unwrap() error { return e.error }

// when says it in whole seconds, rounded up.
func (e *retryError) when() string {
	if e.in == 0 {
		return "trying again now"
	}
	return fmt.Sprintf("next try in %d s", int((e.in+time.Second-1)/time.Second))
}

// Error is one line: some of it the server has said.
func (e *UnavailableError) Error() string {
	text := e.text()
	var m *maskedError
	if errors.As(e.Err, &m) {
		text = m.mask(text)
	}
	return frame.OneLine(text)
}

// A maskedError may hold a secret that the server was given.
type maskedError struct {
	err  error
	mask func(string) string
}

func (e *maskedError) Error() string { return e.mask(e.err.Error()) }
func (e *maskedError) Unwrap() error { return e.err }

func (u *Upstream) masked(err error) error {
	var already *maskedError
	if err == nil || errors.As(err, &already) {
		return err
	}
	return &maskedError{err, u.opts.Mask}
}

func (e *UnavailableError) text() string {
	behind, between := "", ""
	var retry *retryError
	if errors.As(e.Err, &retry) {
		behind, between = "; "+retry.when(), ", "+retry.when()
	}
	status := statusOf(e.Err)
	switch signIn := signInOf(e.Err); {
	case signIn != nil:
		return signIn.Text
	case status != nil && status.Code/100 == 5:
		return fmt.Sprintf("server %q answered %v%s", e.Server, status, behind)
	case status != nil:
		return fmt.Sprintf("server %q refused the request: %v%s", e.Server, status, behind)
	case errors.Is(e.Err, rpc.ErrBadAnswer):
		return fmt.Sprintf("server %q sent a %v%s", e.Server, e.Err, behind)
	case e.Lost:
		return fmt.Sprintf("server %q ended while the call ran: %v", e.Server, e.Err)
	}
	return fmt.Sprintf("server %q is not available%s: %v", e.Server, between, e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// Hint is what to do about it where trying again at once would not help, or "".
func (e *UnavailableError) Hint() string {
	status := statusOf(e.Err)
	var bad *process.StartError
	var retry *retryError
	switch signIn := signInOf(e.Err); {
	case signIn != nil:
		return signIn.Hint
	case errors.As(e.Err, &bad):
		return "tell the operator: it cannot be started as it is configured"
	case e.Lost && errors.Is(e.Err, rpc.ErrBadAnswer): // it goes on
		return "check what the call did before you repeat it"
	case status == nil && errors.As(e.Err, &retry):
		return "try again after that; if it still fails, tell the operator"
	case status == nil:
		return ""
	case status.WantsCredentials():
		return "tell the operator: calls fail until its credentials are right"
	}
	hint := ""
	if status.Code == http.StatusRequestEntityTooLarge {
		hint = "send less: the server refuses requests of this size"
	} else if status.Retry > 0 {
		hint = fmt.Sprintf("wait %d s, then try again", int(status.Retry.Seconds()))
	} else if status.Code == http.StatusTooManyRequests {
		hint = "wait a while, then try again"
	}
	if e.Lost {
		return strings.TrimPrefix(hint+"; check what the call did before you repeat it", "; ")
	}
	return hint
}

// signInOf is the sign-in that err is about, or nil.
func signInOf(err error) *transport.SignInError {
	var signIn *transport.SignInError
	errors.As(err, &signIn)
	return signIn
}
