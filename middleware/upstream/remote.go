package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Remote returns a Dialer for a server at url. Transport is "http" (streamable
// HTTP), "sse" (the older one), or empty: HTTP, then SSE. Headers go with every
// request to the server's own host, and no further.
func Remote(url, transport string, headers map[string]string) Dialer {
	return func(ctx context.Context, h hooks) (link, error) {
		client := &http.Client{Transport: &headerTripper{headers: headers, base: http.DefaultTransport.(*http.Transport).Clone()}}
		client.CheckRedirect = sameHost
		if transport == "sse" {
			return dialSSE(ctx, h, url, client)
		}
		l, err := dialHTTP(ctx, h, url, client)
		if err == nil || transport == "http" || ctx.Err() != nil {
			return l, err
		}
		older, sseErr := dialSSE(ctx, h, url, client)
		if sseErr != nil {
			return nil, fmt.Errorf("streamable HTTP: %w; SSE: %w", err, sseErr)
		}
		return older, nil
	}
}

// sameHost stops a redirect from carrying the operator's headers elsewhere.
func sameHost(req *http.Request, via []*http.Request) error {
	if req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
		return fmt.Errorf("redirect to another host, %s", req.URL.Host)
	}
	if len(via) > 5 {
		return errors.New("more than 5 redirects")
	}
	return nil
}

type headerTripper struct {
	headers map[string]string
	base    *http.Transport
}

func (t *headerTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for k, v := range t.headers {
		req.Header.Set(k, v)
	}
	return t.base.RoundTrip(req)
}

// connectBounded shakes hands. The SDK's session outlives ctx, so the values
// are kept and only the handshake ends with it.
func connectBounded(ctx context.Context, h hooks, t mcp.Transport) (*mcp.ClientSession, error) {
	type shaken struct {
		session *mcp.ClientSession
		err     error
	}
	ended := make(chan shaken, 1)
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		session, err := h.client().Connect(life, t, &mcp.ClientSessionOptions{ProtocolVersion: legacyVersion})
		ended <- shaken{session, err}
	}()
	select {
	case s := <-ended:
		if s.err != nil {
			cancel()
		} else {
			go func() { _ = s.session.Wait(); cancel() }()
		}
		return s.session, s.err
	case <-ctx.Done():
		cancel()
		if s := <-ended; s.err == nil {
			s.session.Close()
		}
		return nil, context.Cause(ctx)
	}
}
