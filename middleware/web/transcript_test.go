package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"golang.org/x/tools/txtar"

	"rlmproxy/internal/transcripttest"
	"rlmproxy/jsonscan"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/rpc"
)

// TestTranscripts holds what clients see to testdata/*.txtar. Each file is a client's
// requests, a second apart, and the whole of each response, which may have taken longer.
//
//	-- > what the client wants --
//	POST
//	Header: value
//
//	body
//	-- < --
//	200 application/json
//	body
//
// $session is the id of the session. The header Cut is no header: after this time the
// client goes away.
func TestTranscripts(t *testing.T) { transcripttest.Run(t, transcribe) }

// transcribe makes the requests of a script and replaces the responses.
func transcribe(t *testing.T, script *txtar.Archive) {
	admit, err := auth.New(auth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := New(Options{
		Guard:  admit,
		Attach: answering(serveTranscript),
		InputSchema: func(_ context.Context, tool string) json.RawMessage {
			return json.RawMessage(`{"properties":{"region":{"type":"string","x-mcp-header":"Region"},"at":{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}`)
		},
	})
	var requests []txtar.File
	var responses []*httptest.ResponseRecorder
	var running sync.WaitGroup
	session := ""
	for _, f := range script.Files {
		if !strings.HasPrefix(f.Name, ">") {
			continue
		}
		r, cut := readRequest(t, strings.ReplaceAll(string(f.Data), "$session", session))
		w := httptest.NewRecorder()
		ended := make(chan struct{})
		running.Go(func() {
			defer close(ended)
			ctx, cancel := context.WithTimeout(t.Context(), cut)
			defer cancel()
			h.ServeHTTP(w, r.WithContext(ctx))
		})
		time.Sleep(time.Second)
		synctest.Wait()
		select {
		case <-ended: // else its headers may still be written
			if id := w.Header().Get(headerSession); id != "" {
				session = id
			}
		default:
		}
		requests, responses = append(requests, f), append(responses, w)
	}
	h.Drain()
	running.Wait()
	h.Close()
	script.Files = nil
	for i, w := range responses {
		script.Files = append(script.Files, requests[i], txtar.File{Name: "<", Data: []byte(written(w))})
	}
}

// readRequest reads a request of a script and when its client goes away.
func readRequest(t *testing.T, text string) (*http.Request, time.Duration) {
	in := bufio.NewReader(strings.NewReader(text + "\r\n"))
	method, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	header, err := textproto.NewReader(in).ReadMIMEHeader()
	if err != nil {
		t.Fatal(text, err)
	}
	body, _ := io.ReadAll(in)
	r := httptest.NewRequest(strings.TrimSpace(method), "http://localhost/mcp", bytes.NewReader(bytes.TrimSpace(body)))
	r.Header = http.Header{"Content-Type": {typeJSON}, "Accept": {typeJSON + ", " + typeEvents}}
	cut := time.Hour
	for key, values := range header {
		if key == "Cut" {
			if cut, err = time.ParseDuration(values[0]); err != nil {
				t.Fatal(err)
			}
			continue
		}
		r.Header[key] = values
	}
	return r, cut
}

// written is a response as it stands in a transcript.
func written(w *httptest.ResponseRecorder) string {
	text := fmt.Sprint(w.Code)
	for _, key := range []string{"Content-Type", "Allow", "Retry-After"} {
		if value := w.Header().Get(key); value != "" {
			text += " " + value
		}
	}
	if id := w.Header().Get(headerSession); id != "" {
		text += "\n" + headerSession + ": $session"
	}
	return text + "\n" + strings.TrimRight(w.Body.String(), "\n") + "\n"
}

// serveTranscript is the server of the transcripts.
func serveTranscript(ctx context.Context, peer *rpc.Peer, method string, params json.RawMessage) (json.RawMessage, error) {
	switch method {
	case "initialize":
		return jsonscan.Object("protocolVersion", jsonscan.Member(params, "protocolVersion")), nil
	case "ping":
		return json.RawMessage("{}"), nil
	case "subscriptions/listen":
		_ = peer.Notify(ctx, "notifications/subscriptions/acknowledged", nil)
		time.Sleep(26 * time.Second)
		_ = peer.Notify(ctx, "notifications/tools/list_changed", nil)
		<-ctx.Done()
		return nil, ctx.Err()
	case "tools/call":
	default:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no such method", Data: json.RawMessage(`{"big":9007199254740993}`)}
	}
	switch jsonscan.StringMember(params, "name") {
	case "lines":
		return json.RawMessage("{\n\t\"content\": [],\n\t\"a\": 1.0\n}"), nil
	case "slow":
		time.Sleep(5 * time.Second)
		_ = peer.Notify(ctx, "notifications/progress", json.RawMessage("{\"progressToken\":\"p\",\n\"progress\":1.0}"))
		time.Sleep(5 * time.Second)
		return text("slow"), nil
	case "log":
		_ = peer.Notify(context.Background(), "notifications/message", json.RawMessage(`{"data":"of no request"}`))
		return text("logged"), nil
	case "ask":
		answer, err := peer.Call(ctx, "elicitation/create", json.RawMessage(`{"message":"?"}`), nil)
		if err != nil {
			return nil, err
		}
		return jsonscan.Object("answer", answer), nil
	case "wait":
		<-ctx.Done()
		return nil, ctx.Err()
	case "invalid":
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid"}
	case "broken":
		return nil, errors.New("broken")
	}
	return text("ok"), nil
}
