package transport

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// NewClient returns a client for one connection with the server at address, a URL. Its
// headers go to the server's own host, and no further. Calls may take long, so only
// reaching the server is bounded here; connections are kept for as many calls as
// agents may have running. Authorize, if not nil, adds to requests to the server what it
// wants of who has signed in.
func NewClient(address string, headers map[string]string, authorize func(http.RoundTripper) http.RoundTripper) (*http.Client, error) {
	origin, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the URL cannot be parsed") // the error would repeat it, and it may hold a secret
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	base.TLSHandshakeTimeout = 10 * time.Second
	base.ResponseHeaderTimeout = 0
	base.MaxIdleConns = 0 // no bound but that for the host
	base.MaxIdleConnsPerHost = 256
	base.HTTP2 = &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}
	t := &headerTripper{origin, headers, base, base}
	if authorize != nil {
		t.next = authorize(base)
	}
	return &http.Client{Transport: t, CheckRedirect: checkRedirect}, nil
}

// checkRedirect stops a redirect that would ask for another thing: behind 301 to 303,
// net/http does not post again.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if req.Method != via[0].Method {
		return errors.New("a redirect that drops the message; configure the URL that it leads to")
	}
	if len(via) > 5 {
		return errors.New("more than 5 redirects")
	}
	return nil
}

// A headerTripper adds the operator's headers to requests to the server's own
// origin, and sends none elsewhere: a server may redirect, and an older one names the
// URL for messages itself.
type headerTripper struct {
	origin  *url.URL
	headers map[string]string
	next    http.RoundTripper
	base    *http.Transport // that next ends at
}

func (t *headerTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if !strings.EqualFold(req.URL.Host, t.origin.Host) || req.URL.Scheme != t.origin.Scheme {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, fmt.Errorf("a redirect or request to another host, %s", req.URL.Host)
	}
	req = req.Clone(req.Context())
	for k, v := range t.headers {
		req.Header.Set(k, v)
	}
	return t.next.RoundTrip(req)
}

// CloseIdleConnections is what [http.Client.CloseIdleConnections] calls.
func (t *headerTripper) CloseIdleConnections() { t.base.CloseIdleConnections() }
