package transport

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"rlmproxy/middleware/rpc"
)

// FuzzResponse: no message takes the proxy down, and the answer to a call is JSON.
func FuzzResponse(f *testing.F) {
	for _, s := range []string{`{"id":"rlm-1","result":{}}`, `[{"id":1,"method":"x"},{"id":"rlm-1","error":{"code":1}}]`, `{"method":"notifications/cancelled","params":[1]}`, ` [null]`, `{"id":null,"error":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if sent, err := io.ReadAll(r.Body); err != nil || !json.Valid(sent) {
				t.Errorf("sent %q, %v", sent, err)
			}
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(data)))}, nil
		})}
		opts := Options{Life: t.Context(), Logger: slog.New(slog.DiscardHandler)}
		opts.MaxBytes = 1 << 20
		opts.Junk = func([]byte, error) {}
		opts.Handle = func(_ context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
			if params == nil {
				params = json.RawMessage("{}")
			}
			return params, nil
		}
		h := NewHTTP("http://x/", client, opts)
		raw, err := h.Call(t.Context(), "tools/list", nil, nil)
		h.Peer.Close()
		h.Close()
		var said *rpc.Failure
		if err == nil && !json.Valid(raw) || errors.As(err, &said) && !json.Valid(said.Raw) {
			t.Errorf("%q: %q, %v", data, raw, err)
		}
	})
}
