package web

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"rlmproxy/middleware/auth"
)

// TestUIBeside: the page has its paths and no others, and what it still does at the end is
// waited for.
func TestUIBeside(t *testing.T) {
	began, ended := make(chan struct{}), make(chan error, 1)
	s := serve(t, withT(nil), Options{UI: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ui/slow" {
			close(began)
			<-r.Context().Done()
			ended <- context.Cause(r.Context())
			return
		}
		_, _ = io.WriteString(w, "the page")
	})}, auth.Options{})
	base := strings.TrimSuffix(s.url, "/mcp")
	get := func(path string) string {
		resp, err := http.Get(base + path)
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return string(body)
	}
	for path, want := range map[string]bool{"/ui": true, "/ui/": true, "/ui/app.js": true, "/ui?x": true, "/uix": false, "/UI": false, "/x/ui": false, "/": false} {
		if got := get(path); (got == "the page") != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	go get("/ui/slow")
	<-began
	s.stop()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it ended by itself")
		}
	default:
		t.Error("it runs on")
	}
}

// TestNoUI: without a page its paths are those of nobody.
func TestNoUI(t *testing.T) {
	s := serve(t, withT(nil), Options{}, auth.Options{})
	resp, err := http.Get(strings.TrimSuffix(s.url, "/mcp") + "/ui")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Error(resp.StatusCode)
	}
}
