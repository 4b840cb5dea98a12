package judgetest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A Fault is what goes wrong with one request.
type Fault int

const (
	Fine    Fault = iota
	Missing       // the last item has no answer
	Extra         // there is an answer for an item that was not asked about
	Twice         // the last item has two answers
	Odd           // the last answer is of a wrong type
	Cut           // the JSON ends in the middle
	Prose         // no JSON
	Fenced        // the JSON is in a Markdown fence, with words around it: not wrong
	Refusal       // the model declines

	// Of the server alone:

	Limited // 429, with Retry-After in seconds as RetryAfter says
	Failing // 500
	Hanging // no response until the client leaves
	Broken  // the connection ends in the middle of the response
	Huge    // 64 MB
	Denied  // 401, and the key in the text
	Unknown // 404: no such model
	Moved   // a redirect to another host
	TooLong // 400: the context is too small
)

// A Server serves a Model at URL, as an API compatible with OpenAI's. Set its fields before the
// first request.
type Server struct {
	*Model
	URL string // ends in /v1
	// Key is what requests have to bring.
	Key string
	// Latency is how long a response takes.
	Latency time.Duration
	// RetryAfter is the header of a Limited response, empty is none.
	RetryAfter string
	// Refuses are parts of a request's body for which it responds with 400, naming them:
	// "json_schema", "json_object", "temperature", "max_tokens". Rude has it not name them.
	Refuses []string
	Rude    bool
	// Elsewhere is where Moved sends.
	Elsewhere string
	// Header is what a request brought.
	Header func(http.Header)
}

// Start starts a server that ends with the test, and answers by a rule, see [Model].
func Start(t testing.TB, rule func(about, item string) any) *Server {
	t.Helper()
	s := &Server{Model: &Model{Rule: rule}, Key: "sk-judgetest-1234567890"}
	served := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(served.Close)
	s.URL = served.URL + "/v1"
	return s
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	var body json.RawMessage
	var in struct {
		Model    string    `json:"model"`
		Messages []message `json:"messages"`
	}
	fault := s.begin()
	err := json.NewDecoder(r.Body).Decode(&body)
	if err == nil {
		err = json.Unmarshal(body, &in)
	}
	if s.Header != nil {
		s.Header(r.Header)
	}
	switch {
	case r.URL.Path != "/v1/chat/completions" || r.Method != http.MethodPost:
		s.fail(w, http.StatusNotFound, "no such path")
		return
	case err != nil || len(in.Messages) == 0:
		s.fail(w, http.StatusBadRequest, "this is no request")
		return
	case r.Header.Get("Authorization") != "Bearer "+s.Key || fault == Denied:
		s.fail(w, http.StatusUnauthorized, "Incorrect API key provided: "+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		return
	}
	for _, part := range s.Refuses {
		if strings.Contains(string(body), `"`+part+`"`) {
			said := "Unsupported parameter: " + part
			if s.Rude {
				said = "bad request"
			}
			s.fail(w, http.StatusBadRequest, said)
			return
		}
	}
	if s.Latency > 0 {
		select {
		case <-time.After(s.Latency):
		case <-r.Context().Done():
			return
		}
	}
	if s.trouble(w, r, fault) {
		return
	}
	var system, user string
	for _, one := range in.Messages {
		if one.Role == "user" {
			user += one.Content
		} else {
			system += one.Content
		}
	}
	text := s.text(system, user, fault)
	said := map[string]any{"role": "assistant", "content": text}
	reason := "stop"
	switch fault {
	case Cut:
		reason = "length"
	case Refusal:
		said["refusal"], said["content"] = "I cannot help with that.", nil
	}
	s.write(w, http.StatusOK, map[string]any{
		"id": "1", "object": "chat.completion", "created": 1, "model": in.Model,
		"choices": []any{map[string]any{"index": 0, "finish_reason": reason, "message": said}},
		"usage": map[string]any{
			"prompt_tokens": (len(system) + len(user)) / 4, "completion_tokens": len(text) / 4,
			"total_tokens": (len(system)+len(user))/4 + len(text)/4,
		},
	})
}

// trouble responds with a fault of the server, and reports whether there was one.
func (s *Server) trouble(w http.ResponseWriter, r *http.Request, fault Fault) bool {
	switch fault {
	case Limited:
		if s.RetryAfter != "" {
			w.Header().Set("Retry-After", s.RetryAfter)
		}
		s.fail(w, http.StatusTooManyRequests, "Rate limit reached")
	case Failing:
		s.fail(w, http.StatusInternalServerError, "The server had an error")
	case Hanging:
		<-r.Context().Done()
	case Broken:
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`{"choices":[`))
	case Huge:
		w.Header().Set("Content-Type", "application/json")
		for range 1024 {
			if _, err := w.Write([]byte(strings.Repeat(" ", 64<<10))); err != nil {
				break
			}
		}
	case Unknown:
		s.fail(w, http.StatusNotFound, "The model does not exist")
	case Moved:
		http.Redirect(w, r, s.Elsewhere, http.StatusTemporaryRedirect)
	case TooLong:
		s.fail(w, http.StatusBadRequest, "This model's maximum context length is 4096 tokens")
	default:
		return false
	}
	return true
}

func (s *Server) fail(w http.ResponseWriter, status int, text string) {
	s.write(w, status, map[string]any{"error": map[string]any{"message": text, "type": "error", "param": nil, "code": nil}})
}

func (s *Server) write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
