package upstream

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"rlmproxy/middleware/rpc"
)

// TestStreamsWithWords: events of an answer's stream that are no messages once
// failed the call, which other clients pass over. What may be the answer still does.
func TestStreamsWithWords(t *testing.T) {
	s := newRawServer(t)
	s.tool = func(w http.ResponseWriter, _ *http.Request, m rawMessage) {
		say := stream(w)
		switch m.Params.Name {
		case "words":
			say("data: keep-alive\n\ndata: 5\n\ndata: null\n\ndata: \"x\"\n\ndata: [5]\n\n")
			say(`data: {"jsonrpc":"2.0","method":"notifications/x","params":}` + "\n\n")
			say(`data: {"jsonrpc":"2.0","id":"another","result":{]}}` + "\n\n")
		case "broken":
			say("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{]}}\n\n", m.ID)
		case "nobody's":
			say("data: {]}\n\n")
		}
		say("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", m.ID)
	}
	u := s.connect(Options{})
	if got, err := call(t, u, "words", "{}"); err != nil || got != `{"content":[]}` {
		t.Errorf("%s, %v", got, err)
	}
	for _, name := range []string{"broken", "nobody's"} {
		if got, err := call(t, u, name, "{}"); !errors.Is(err, rpc.ErrBadAnswer) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// TestAnswerWithMark: a byte order mark before the answer is no part of it
// (RFC 8259, 8.1).
func TestAnswerWithMark(t *testing.T) {
	s := newRawServer(t)
	s.tool = func(w http.ResponseWriter, _ *http.Request, m rawMessage) {
		io.WriteString(w, "\ufeff")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.ID)
	}
	if got, err := call(t, s.connect(Options{}), "x", "{}"); err != nil || got != `{"content":[]}` {
		t.Errorf("%s, %v", got, err)
	}
}
