package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"

	"rlmproxy/middleware/rpc"
)

// faithful is the tag of [fakeServer] for the server of the corpus.
const faithful = "faithful"

// echoCase is the case that answers with the params as they came.
const echoCase = "echo"

// oddTool is a definition that has to reach clients as it is.
const oddTool = `{"x-odd":1.0,"inputSchema":{"type":"object","properties":{"z":{"const":9007199254740993},"a":{}},"\u00e9":"é"},"name":"t","execution":{"taskSupport":"optional"},"annotations":{"vendorHint":null,"title":"<t>"}}`

var caseOf = regexp.MustCompile(`"case" ?: ?"([^"]*)"|case://([^"]*)"`)

// newToo is an environment variable of a server that knows both revisions. A
// request of 2026-07-28 says so, but not on stdio: there the first one counts.
const newToo = "TEST_NEW_TOO"

// faithfulAnswer is the whole message that the server answers a request with, or
// nil for a notification. With older it knows no newer revision.
func faithfulAnswer(line []byte, older bool) []byte {
	m, err := rpc.Parse(line)
	if err != nil {
		panic(err)
	}
	if m.ID == nil {
		return nil
	}
	member := "result"
	var body []byte
	switch m.Method {
	case "initialize":
		body = []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"faithful","version":"1"}}`)
	case "server/discover":
		if older {
			member, body = "error", []byte(`{"code":-32601,"message":"what?"}`)
			break
		}
		body = []byte(`{"supportedVersions":["2026-07-28"],"resultType":"complete","capabilities":{"tools":{},"prompts":{},"resources":{}}}`)
	case "tools/list":
		body = []byte(`{"tools":[` + oddTool + `]}`)
	case "prompts/list":
		body = []byte(`{"prompts":[{"name":"p"}]}`)
	default:
		found := caseOf.FindSubmatch(m.Params)
		if found == nil {
			panic(string(m.Params))
		}
		name := string(found[1]) + string(found[2])
		if name == echoCase {
			text, _ := json.Marshal(string(m.Params))
			body = fmt.Appendf(nil, `{"content":[{"type":"image","data":%s}]}`, text)
			break
		}
		for _, o := range odds() {
			if o.name != name {
				continue
			}
			if body = []byte(o.result); o.failure != "" {
				member, body = "error", []byte(o.failure)
			}
		}
	}
	return fmt.Appendf(nil, `{"id":%s,%q:%s,"jsonrpc":"2.0"}`, m.ID, member, body)
}

// serveFaithful is the server over stdin and stdout.
func serveFaithful() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		if answer := faithfulAnswer(line, os.Getenv(newToo) == ""); answer != nil {
			os.Stdout.Write(append(answer, '\n'))
		}
	}
}

// faithfulHTTP is the server over HTTP: its answers are events or not, and with
// stateless it knows nothing but revision 2026-07-28.
func faithfulHTTP(events, stateless bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		switch {
		case r.Method == http.MethodDelete:
			return
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case err != nil:
			panic(err)
		case stateless && strings.Contains(string(body), `"method":"initialize"`):
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answer := faithfulAnswer(body, !stateless)
		switch {
		case answer == nil:
			w.WriteHeader(http.StatusAccepted)
		case events:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", answer)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.Write(answer)
		}
	})
}
