// Package ui serves the page /ui: servers with their state, the last calls, what is saved,
// and what agents keep, which the operator can open and query as an agent can.
//
//	/ui, /ui/app.js, …   the page: files of the program, without data, for anybody
//	/ui/api/report       GET: a [stats.Report]
//	/ui/api/results      GET: what agents keep, newest first
//	/ui/api/query        POST: a call of a proxy_* tool about one of these
//
// Whoever has the key sees the results of all agents, so each request of /ui/api shows it as
// a bearer token. What servers and agents say is data here: the page writes it as text only,
// and its Content-Security-Policy runs and loads nothing but these files.
package ui

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"path"
	"strings"
	"time"

	"rlmproxy/cache"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/stats"
)

// Options configures [New]. All fields are required.
type Options struct {
	// Guard asks for the key of the page, and for nothing else.
	Guard *auth.Guard
	// Report is what was counted until now.
	Report func() stats.Report
	// Results lists what agents keep, as [cache.Store.List] does.
	Results func(most int) (list []cache.Listed, all int)
	// Look answers a call of a proxy_* tool about what a shelf keeps with the result of a
	// tools/call. An error says that there is none.
	Look func(ctx context.Context, shelf, tool string, arguments json.RawMessage) (json.RawMessage, error)
}

//go:embed page
var page embed.FS

// media are the types of the page's files. The system may know others.
var media = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
}

// policy lets the page load its own files, ask its own proxy, and do nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// writeTime is how long a client may take to read a reply.
const writeTime = 30 * time.Second

// A handler serves /ui and what is below it.
type handler struct {
	opts  Options
	files http.Handler // that anybody may have
	api   http.Handler // with the key
}

// New returns a handler of /ui and all paths below. It is safe for concurrent use.
func New(opts Options) http.Handler {
	h := &handler{opts: opts}
	h.files = opts.Guard.Open(http.HandlerFunc(h.serveFile))
	h.api = opts.Guard.Wrap(http.HandlerFunc(h.serveAPI))
	return h
}

// ServeHTTP implements [http.Handler].
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range map[string]string{
		"Content-Security-Policy":      policy,
		"X-Content-Type-Options":       "nosniff",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Cache-Control":                "no-store",
	} {
		w.Header().Set(name, value)
	}
	// The connection may serve other requests after this one.
	rc := http.NewResponseController(w)
	defer func() { _ = rc.SetWriteDeadline(time.Time{}) }() // tests have writers without
	if strings.HasPrefix(r.URL.Path, "/ui/api/") {
		h.api.ServeHTTP(w, r)
		return
	}
	_ = rc.SetWriteDeadline(time.Now().Add(writeTime))
	h.files.ServeHTTP(w, r)
}

// serveFile answers with a file of the page.
func (h *handler) serveFile(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/ui/" { // where the page's paths would mean others
		w.Header().Set("Location", "../ui")
		w.WriteHeader(http.StatusPermanentRedirect)
		return
	}
	name := "index.html"
	if r.URL.Path != "/ui" {
		name = strings.TrimPrefix(r.URL.Path, "/ui/")
	}
	data, err := page.ReadFile("page/" + name) // which has no path that leads out of it
	if err != nil {
		fail(w, http.StatusNotFound, "not_found", "the page is /ui")
		return
	}
	if !allowed(w, r, http.MethodGet, http.MethodHead) {
		return
	}
	sum := sha256.Sum256(data)
	w.Header().Set("Cache-Control", "no-cache") // but asked for again, for another version may run by then
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	w.Header().Set("Content-Type", media[path.Ext(name)])
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// allowed reports whether a request has one of these methods, or answers that it may not.
func allowed(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	for _, m := range methods {
		if r.Method == m {
			return true
		}
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	fail(w, http.StatusMethodNotAllowed, "method_not_allowed", r.URL.Path+" takes "+strings.Join(methods, " and "))
	return false
}

// fail answers with an error, in the form that the guard's have.
func fail(w http.ResponseWriter, status int, code, text string) {
	write(w, status, struct {
		Error string `json:"error"`
		Text  string `json:"error_description"`
	}{code, text})
}

// write answers with JSON.
func write(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil { // a number that JSON does not have
		fail(w, http.StatusInternalServerError, "internal", "the answer cannot be encoded")
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // the client may be gone
}
