package ui

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"time"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

const (
	// maxResults bounds the results that are listed.
	maxResults = 200
	// maxArguments is what is shown of the arguments of a call, in bytes.
	maxArguments = 200
	// maxQuery bounds the body of a query, in bytes: a long jq program.
	maxQuery = 64 << 10
)

// serveAPI answers a request that showed the key.
func (h *handler) serveAPI(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/ui/api/report":
		if allowed(w, r, http.MethodGet) {
			write(w, http.StatusOK, h.opts.Report())
		}
	case "/ui/api/results":
		if allowed(w, r, http.MethodGet) {
			write(w, http.StatusOK, h.results())
		}
	case "/ui/api/query":
		if allowed(w, r, http.MethodPost) {
			h.query(w, r)
		}
	default:
		fail(w, http.StatusNotFound, "not_found", "there are /ui/api/report, /ui/api/results and /ui/api/query")
	}
}

// A result is what an agent keeps, as the page shows it.
type result struct {
	Agent     string   `json:"agent"` // what stands for it in a query
	Name      string   `json:"name"`  // what the log calls it, or ""
	ID        cache.ID `json:"id"`
	Server    string   `json:"server"` // "": a proxy_* tool
	Tool      string   `json:"tool"`
	Arguments string   `json:"arguments"` // JSON, clipped
	Bytes     int64    `json:"bytes"`
	Age       int64    `json:"age_s"`     // seconds
	Left      int64    `json:"expires_s"` // seconds until it expires, unless the agent reads it
}

type results struct {
	Results []result `json:"results"` // newest first
	All     int      `json:"all"`     // how many there are
}

func (h *handler) results() results {
	now := time.Now()
	list, all := h.opts.Results(maxResults)
	out := results{Results: []result{}, All: all}
	for _, e := range list {
		out.Results = append(out.Results, result{
			Agent: e.Shelf, Name: e.Agent, ID: e.ID, Server: e.Origin.Server, Tool: e.Origin.Tool,
			Arguments: show.ClipBytes(string(e.Origin.Arguments), maxArguments), Bytes: e.Bytes,
			Age: seconds(now.Sub(e.Kept)), Left: seconds(e.Ends.Sub(now)),
		})
	}
	return out
}

// seconds are none below zero: clocks of several processes may differ.
func seconds(d time.Duration) int64 { return max(0, int64(math.Ceil(d.Seconds()))) }

// A query is a call of a tool about a result.
type query struct {
	Agent     string          `json:"agent"`
	ID        cache.ID        `json:"id"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"` // without cache_id; none is {}
}

// A reply is what an agent would read.
type reply struct {
	Text    string `json:"text"`
	Tokens  int    `json:"tokens"` // of o200k
	IsError bool   `json:"is_error"`
}

// query answers a query.
func (h *handler) query(w http.ResponseWriter, r *http.Request) {
	q, status, why := readQuery(w, r)
	if why != "" {
		fail(w, status, "bad_request", why)
		return
	}
	raw, err := h.opts.Look(r.Context(), q.Agent, q.Tool, jsonscan.With(q.Arguments, "cache_id", jsonscan.Quote(string(q.ID))))
	var said struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		IsError bool `json:"isError"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &said)
	}
	if err != nil { // the page is gone, or the proxy ends
		fail(w, http.StatusServiceUnavailable, "unavailable", "the query was not answered")
		return
	}
	out := reply{IsError: said.IsError}
	for _, c := range said.Content {
		out.Text += c.Text
	}
	out.Tokens, _ = tokens.Count([]byte(out.Text))
	write(w, http.StatusOK, out)
}

// readQuery reads the body of a query. Why says what is wrong with it, and is empty if
// nothing is.
func readQuery(w http.ResponseWriter, r *http.Request) (q query, status int, why string) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return q, http.StatusUnsupportedMediaType, "the body has to be application/json"
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxQuery))
	// The handler of the connection gave the body a time, which would end the query.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // tests have connections without
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return q, http.StatusRequestEntityTooLarge, "a query has at most 65,536 bytes"
	case err != nil:
		return q, http.StatusBadRequest, "the body did not come"
	case !jsonscan.Valid(body, jsonscan.MaxDepth):
		return q, http.StatusBadRequest, "the body is no JSON"
	}
	switch err := json.Unmarshal(body, &q); {
	case err != nil || jsonscan.Kind(body) != '{':
		return q, http.StatusBadRequest, "a query is an object with agent, id, tool and arguments"
	case q.Agent == "" || q.Tool == "" || !q.ID.Possible():
		return q, http.StatusBadRequest, "a query names an agent and an id, as /ui/api/results has them, and a tool"
	case len(q.Arguments) == 0 || string(q.Arguments) == "null":
		q.Arguments = json.RawMessage("{}")
	case q.Arguments[0] != '{':
		return q, http.StatusBadRequest, "arguments are an object"
	}
	return q, 0, ""
}
