package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

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

// Error is one line: some of it the server has said.
func (e *UnavailableError) Error() string { return frame.OneLine(e.text()) }

func (e *UnavailableError) text() string {
	status := statusOf(e.Err)
	switch signIn := signInOf(e.Err); {
	case signIn != nil:
		return signIn.Text
	case status != nil && status.Code/100 == 5:
		return fmt.Sprintf("server %q answered %v", e.Server, status)
	case status != nil:
		return fmt.Sprintf("server %q refused us: %v", e.Server, status)
	case errors.Is(e.Err, rpc.ErrBadAnswer):
		return fmt.Sprintf("server %q sent a %v", e.Server, e.Err)
	case e.Lost:
		return fmt.Sprintf("server %q ended while the call ran: %v", e.Server, e.Err)
	}
	return fmt.Sprintf("server %q is not available: %v", e.Server, e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// Hint is what to do about it where trying again at once would not help, or "".
func (e *UnavailableError) Hint() string {
	status := statusOf(e.Err)
	var bad *process.StartError
	switch signIn := signInOf(e.Err); {
	case signIn != nil:
		return signIn.Hint
	case errors.As(e.Err, &bad):
		return "tell the operator: it cannot be started as it is configured"
	case e.Lost && errors.Is(e.Err, rpc.ErrBadAnswer): // it goes on
		return "check what the call did before you repeat it"
	case status == nil:
		return ""
	case status.WantsCredentials():
		return "tell the operator: calls fail until its credentials are right"
	}
	hint := ""
	if status.Code == http.StatusRequestEntityTooLarge {
		hint = "send less: the server takes no request of this size"
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
