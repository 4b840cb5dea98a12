package oauth

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

const (
	callbackPath = "/callback"
	maxPasted    = 16 << 10
)

// A callback takes what the authorization server sends by way of the browser.
type callback struct {
	state   string
	meta    *oauthex.AuthServerMeta
	results chan result
}

type result struct {
	code string
	err  error
}

func newCallback(m *oauthex.AuthServerMeta) *callback {
	return &callback{rand.Text(), m, make(chan result, 1)}
}

// errStray is of a request that does not answer ours: it ends nothing.
var errStray = errors.New("this address does not belong to the sign-in that is waiting")

// wait returns the code with which the browser comes back, or the person.
func (b *callback) wait(ctx context.Context, at net.Listener, l Login, address string) (string, error) {
	limit := l.Wait
	if limit == 0 {
		limit = 5 * time.Minute
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("nobody has signed in within %v", limit))
	defer cancel()
	server := &http.Server{Handler: b, ReadHeaderTimeout: askTime, MaxHeaderBytes: 64 << 10}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(at) // until it is closed
	}()
	defer func() {
		late, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(late) != nil { // the page may still be on its way
			server.Close()
		}
		<-ended
	}()
	l.Show(address)
	if l.Pasted != nil {
		go b.paste(l) // ends with what it reads from
	}
	select {
	case r := <-b.results:
		return r.code, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// paste reads lines until one is the answer.
func (b *callback) paste(l Login) {
	in := bufio.NewScanner(l.Pasted)
	in.Buffer(nil, maxPasted)
	for in.Scan() {
		line := strings.TrimSpace(in.Text())
		if u, err := url.Parse(line); err == nil && b.take(u.Query()) == nil {
			return
		}
		if line != "" && l.Stray != nil {
			l.Stray()
		}
	}
}

// take looks at what came back, and is errStray unless it ends the wait. An answer counts only
// with our state, so nobody else's page can end it.
func (b *callback) take(q url.Values) error {
	if q.Get("state") != b.state {
		return errStray
	}
	r := result{code: q.Get("code")}
	switch iss := q.Get("iss"); {
	case iss == "" && b.meta.AuthorizationResponseIssParameterSupported:
		r = result{err: errors.New("the answer does not name its authorization server, as it promised to (RFC 9207)")}
	case iss != "" && iss != b.meta.Issuer:
		r = result{err: fmt.Errorf("the answer is from another authorization server, %s", clip(iss))}
	case q.Get("error") != "":
		r = result{err: errors.New("the authorization server says " + clip(strings.TrimSpace(q.Get("error")+" "+q.Get("error_description"))))}
	case r.code == "":
		return errStray
	}
	select {
	case b.results <- r:
	default: // another was first
	}
	return nil
}

// ServeHTTP answers the browser.
func (b *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/html; charset=utf-8")
	switch {
	case r.URL.Path != callbackPath || r.Method != http.MethodGet:
		http.NotFound(w, r)
	case b.take(r.URL.Query()) != nil:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintln(w, "<!doctype html><title>rlmproxy</title><p>This page does not belong to the sign-in that is waiting.")
	default:
		fmt.Fprintln(w, "<!doctype html><title>rlmproxy</title><p>You can close this page: the terminal says whether the sign-in has succeeded.")
	}
}
