package web

import (
	"mime"
	"net/http"
	"strconv"
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
	// gives them more weight, or names them first. The SDKs' clients name JSON first.
	prefersEvents bool
}

// accepts reads the header Accept.
func accepts(r *http.Request) (a accepted) {
	weights, first := map[string]float64{}, ""
	for _, value := range r.Header.Values("Accept") {
		for entry := range strings.SplitSeq(value, ",") {
			kind, _, weighted := strings.Cut(entry, ";")
			kind = strings.ToLower(strings.TrimSpace(kind))
			switch kind {
			case "*/*":
				a.json, a.events = true, true
			case "application/*":
				a.json = true
			case "text/*":
				a.events = true
			case typeJSON, typeEvents:
				weight := 1.0
				if weighted {
					weight = quality(entry)
				}
				weights[kind] = max(weights[kind], weight)
				if first == "" {
					first = kind
				}
			}
		}
	}
	events, acceptsEvents := weights[typeEvents]
	json, acceptsJSON := weights[typeJSON]
	a.json, a.events = a.json || acceptsJSON, a.events || acceptsEvents
	a.prefersEvents = events > json || events == json && first == typeEvents
	return a
}

// quality is the weight of an entry of Accept, 1 where it has none.
func quality(entry string) float64 {
	_, params, _ := mime.ParseMediaType(entry)
	q, err := strconv.ParseFloat(params["q"], 64)
	if err != nil {
		return 1
	}
	return q
}

func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == typeJSON
}
