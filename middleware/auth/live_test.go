package auth

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// liveURL is an issuer on a loopback address: http is allowed there.
const liveURL = "http://127.0.0.1:9000"

// A live issuer is behind real HTTP, over pipes, so that time is synctest's.
type live struct {
	*issuer
	gate

	mu     sync.Mutex
	dialed []string     // hosts
	sent   atomic.Int64 // bytes, as the issuer's handlers wrote them
}

// write counts for handlers that write much.
func (l *live) write(w io.Writer, b []byte) error {
	n, err := w.Write(b)
	l.sent.Add(int64(n))
	return err
}

// inLive runs test with a guard before an issuer that has the keys of signs.
func inLive(t *testing.T, signs []signer, test func(*testing.T, *live)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &live{issuer: newIssuer(signs...)}
		l.set("/.well-known/oauth-authorization-server", page(`{"issuer": "`+liveURL+`", "jwks_uri": "`+liveURL+keysPath+`"}`))
		conns := pipes{make(chan net.Conn), make(chan struct{})}
		server := &http.Server{Handler: l.issuer}
		var serving sync.WaitGroup
		serving.Go(func() { _ = server.Serve(conns) })
		transport := &http.Transport{DialContext: func(_ context.Context, _, addr string) (net.Conn, error) {
			l.mu.Lock()
			l.dialed = append(l.dialed, addr)
			l.mu.Unlock()
			near, far := net.Pipe()
			conns.come <- far
			return near, nil
		}}
		g, log := newGuard(t, Options{JWT: &JWT{Issuer: liveURL, Transport: transport}, Resource: resource})
		l.gate = gate{t, g, log}
		test(t, l)
		for _, host := range l.dialed {
			if host != "127.0.0.1:9000" {
				t.Errorf("%s was asked", host)
			}
		}
		transport.CloseIdleConnections()
		_ = server.Close()
		serving.Wait()
	})
}

// pipes is a listener.
type pipes struct {
	come chan net.Conn
	done chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.come:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p pipes) Close() error   { close(p.done); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// claims are those of a token of this issuer.
func (l *live) claims(edits map[string]any) map[string]any {
	all := claims(map[string]any{"iss": liveURL})
	for k, v := range edits {
		all[k] = v
	}
	return all
}

// shows is the status of a request with a token.
func (l *live) shows(token string) int {
	w, _ := ask(l.g, request("Authorization: Bearer "+token))
	return w.Code
}

func (l *live) wants(status int, token, when string) {
	l.t.Helper()
	if got := l.shows(token); got != status {
		l.t.Errorf("%s: status %d, want %d\n%s", when, got, status, l.log)
	}
}

var (
	liveRSA = sync.OnceValue(func() signer { return signer{"r", jose.RS256, rsaKey()} })
	liveEC  = sync.OnceValue(func() signer { return signer{"e", jose.ES256, ec256()} })
	liveEd  = sync.OnceValue(func() signer { return signer{"d", jose.EdDSA, edKey()} })
)

// TestLiveTokens: what an issuer has signed is admitted, to the second; nothing
// that somebody else made is, whatever its header says.
func TestLiveTokens(t *testing.T) {
	inLive(t, []signer{liveRSA(), liveEC(), liveEd()}, func(t *testing.T, l *live) {
		type edits = map[string]any
		for _, k := range []signer{liveRSA(), liveEC(), liveEd()} {
			l.wants(200, sign(t, k, l.claims(nil), nil), string(k.alg))
			// The signature of each is of no use under another's name.
			for _, other := range []signer{liveRSA(), liveEC(), liveEd()} {
				if other.kid != k.kid {
					l.wants(401, sign(t, signer{other.kid, k.alg, k.key}, l.claims(nil), nil), string(k.alg)+" under the kid of "+string(other.alg))
				}
			}
		}
		k := liveEC()
		in := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
		for _, tt := range []struct {
			edits  edits
			status int
		}{
			{edits{"exp": in(-leeway)}, 200},
			{edits{"exp": in(-leeway - time.Second)}, 401},
			{edits{"nbf": in(leeway)}, 200},
			{edits{"nbf": in(leeway + time.Second)}, 401},
			{edits{"iat": in(leeway)}, 200},
			{edits{"iat": in(leeway + time.Second)}, 401},
			{edits{"exp": int64(1<<63 - 1)}, 401}, // no time that there is
			{edits{"exp": 0}, 401},
			{edits{"exp": -1}, 401},
			{edits{"aud": []string{"x", resource, "y"}}, 200},
			{edits{"aud": []string{resource}}, 200},
			{edits{"aud": []string{}}, 401},
			{edits{"aud": []string{"x"}}, 401},
			{edits{"aud": []any{resource, 7}}, 401},
			{edits{"iss": liveURL + "/"}, 401},
			{edits{"iss": "http://127.0.0.1:9001"}, 401},
			{edits{"iss": strings.ToUpper(liveURL)}, 401},
			{edits{"iss": []string{liveURL}}, 401},
		} {
			l.wants(tt.status, sign(t, k, l.claims(tt.edits), nil), fmt.Sprint(tt.edits))
		}

		body, _ := json.Marshal(l.claims(nil))
		for _, header := range []string{`{"alg":"none"}`, `{"alg":"NONE","kid":"r"}`, `{"alg":"","kid":"r"}`, `{"alg":["RS256"],"kid":"r"}`} {
			l.wants(401, unsigned(header, string(body), nil), header)
			l.wants(401, unsigned(header, string(body), []byte("x")), header)
		}
		der, _ := x509.MarshalPKIXPublicKey(rsaKey().Public())
		jwk, _ := jose.JSONWebKey{Key: rsaKey().Public(), KeyID: "r", Use: "sig"}.MarshalJSON()
		for _, secret := range [][]byte{der, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), jwk, {}} {
			l.wants(401, hs256(`{"alg":"HS256","kid":"r"}`, l.claims(nil), secret), "HS256 with a public key")
			l.wants(401, hs256(`{"alg":"RS256","kid":"r"}`, l.claims(nil), secret), "HS256 that says RS256")
		}
		for _, crit := range []string{`["x"]`, `["exp"]`, `[]`, `"x"`, `["b64"]`} {
			l.wants(401, unsignHeader(t, liveRSA(), `{"alg":"RS256","kid":"r","crit":`+crit+`,"x":1,"b64":false,"exp":1}`, string(body)), "crit "+crit)
		}

		// Keys that a token brings along, or names, are nobody's.
		forger := signer{"e", jose.ES256, newEC(elliptic.P256())()}
		own := jose.JSONWebKey{Key: forger.key.Public(), KeyID: "e"}
		for name, value := range map[jose.HeaderKey]any{
			"jwk": own, "jku": "http://127.0.0.1:9001/keys", "x5u": "http://127.0.0.1:9001/cert",
		} {
			header := map[jose.HeaderKey]any{name: value}
			l.wants(401, sign(t, forger, l.claims(nil), header), "forged, with "+string(name))
			l.wants(401, sign(t, signer{"new", jose.ES256, forger.key}, l.claims(nil), header), "forged under a new kid, with "+string(name))
			l.wants(401, sign(t, signer{"", jose.ES256, forger.key}, l.claims(nil), header), "forged without kid, with "+string(name))
			l.wants(200, sign(t, k, l.claims(nil), header), "the issuer's, with "+string(name))
		}
		l.wants(401, unsigned(`{"alg":"ES256","kid":"e","x5c":["`+base64.StdEncoding.EncodeToString(der)+`"]}`, string(body), make([]byte, 64)), "x5c")
		if n := l.count(keysPath); n != 1 {
			t.Errorf("keys were asked for %d times", n)
		}
	})
}

// TestLiveTrouble: an issuer that answers wrongly, too much, never or by bits
// fails what it has not been asked before, in ten seconds, and is asked again.
func TestLiveTrouble(t *testing.T) {
	const large = 10 << 20
	zip := func() []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(bytes.Repeat([]byte(" "), large))
		_ = z.Close()
		return b.Bytes()
	}()
	for _, tt := range []struct {
		name string
		keys func(l *live, w http.ResponseWriter, r *http.Request)
		log  string
	}{
		{"500", func(_ *live, w http.ResponseWriter, _ *http.Request) { http.Error(w, "oops", 500) }, "status 500"},
		{"10 MB", func(l *live, w http.ResponseWriter, _ *http.Request) {
			for i, piece := 0, bytes.Repeat([]byte(" "), 1<<16); i < large && l.write(w, piece) == nil; i += len(piece) {
			}
		}, "more than 1024 KiB"},
		{"10 MB in one key", func(l *live, w http.ResponseWriter, _ *http.Request) {
			_ = l.write(w, []byte(`{"keys":[{"kty":"RSA","e":"AQAB","n":"`+strings.Repeat("A", large)+`"}]}`))
		}, "more than 1024 KiB"},
		{"10 MB, zipped", func(l *live, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_ = l.write(w, zip)
		}, "more than 1024 KiB"},
		{"no end", func(l *live, w http.ResponseWriter, _ *http.Request) {
			for l.write(w, bytes.Repeat([]byte("["), 1<<16)) == nil {
			}
		}, "more than 1024 KiB"},
		{"no answer", func(_ *live, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "deadline exceeded"},
		{"no body", func(_ *live, w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "deadline exceeded"},
		{"a byte a second", func(l *live, w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil && l.write(w, []byte(" ")) == nil {
				w.(http.Flusher).Flush()
				time.Sleep(time.Second)
			}
		}, "deadline exceeded"},
		{"elsewhere", func(_ *live, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:9001/keys", http.StatusFound)
		}, "status 302"},
		{"around", func(_ *live, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, keysPath, http.StatusTemporaryRedirect)
		}, "status 307"},
		{"broken off", func(_ *live, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"keys":[`)
		}, "unexpected EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inLive(t, []signer{liveEC()}, func(t *testing.T, l *live) {
				good := l.pages[keysPath]
				bad := func(w http.ResponseWriter, r *http.Request) { tt.keys(l, w, r) }
				l.set(keysPath, bad)
				known := func() string { return sign(t, liveEC(), l.claims(nil), nil) }
				began := time.Now()
				var all sync.WaitGroup
				for range 20 {
					token := known()
					all.Go(func() { l.wants(503, token, "no keys yet") })
				}
				all.Wait()
				if took := time.Since(began); took > fetchTimeout || l.count(keysPath) != 1 {
					t.Errorf("it took %v, and keys were asked for %d times", took, l.count(keysPath))
				}
				if !strings.Contains(l.log.String(), tt.log) {
					t.Errorf("log %s, want %q", l.log, tt.log)
				}
				if n := l.sent.Load(); n > 2*maxDocumentBytes && !strings.Contains(tt.name, "one key") {
					t.Errorf("%d bytes were read", n)
				}
				l.set(keysPath, good)
				time.Sleep(retryAfter)
				l.wants(200, known(), "recovered")

				l.set(keysPath, bad)
				time.Sleep(keysFresh)
				began = time.Now()
				l.wants(200, known(), "bad again")
				l.wants(401, sign(t, signer{"new", jose.ES256, ec256()}, l.claims(nil), nil), "unknown")
				if took := time.Since(began); took > fetchTimeout {
					t.Errorf("it took %v", took)
				}
				l.rotate(liveEC(), liveEd())
				l.set(keysPath, good)
				time.Sleep(refreshGap)
				l.wants(200, sign(t, liveEd(), l.claims(nil), nil), "recovered again")
			})
		})
	}
}
