package web

import (
	"mime"
	"net/http"
	"strings"
)

const (
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"
)

// accepted is which of the two kinds of response a client takes.
type accepted struct {
	json, events bool
	// prefersEvents says that the client would rather have events than one message: it
	// names them first. The SDKs' clients name JSON first.
	prefersEvents bool
}

// accepts reads the header Accept. Weights are passed over.
func accepts(r *http.Request) (a accepted) {
	for entry := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		kind, _, _ := strings.Cut(entry, ";")
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case "*/*":
			a.json, a.events = true, true
		case "application/*", typeJSON:
			a.json = true
		case "text/*", typeEvents:
			a.events = true
			a.prefersEvents = !a.json
		}
	}
	return a
}

func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == typeJSON
}
