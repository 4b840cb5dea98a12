package middleware

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"rlmproxy/internal/transcripttest"
	"rlmproxy/middleware/upstream"
)

// TestTranscripts holds what a client over stdin and stdout reads to testdata/*.txtar.
// Each file is what the client writes, lines a second apart from those of the next
// section, and all that comes back meanwhile.
//
//	-- > what the client wants --
//	{"jsonrpc":"2.0", …}
//	-- < --
//	{"jsonrpc":"2.0", …}
//
// A line that is "server: method params" is what the server tells, one that is
// "changed" that it has connected again.
func TestTranscripts(t *testing.T) { transcripttest.Run(t, transcribe) }

// transcribe writes the client's lines of a script and replaces what comes back.
func transcribe(t *testing.T, script *txtar.Archive) {
	f := offering(map[string]string{
		"resources/subscribe": `{}`, "resources/unsubscribe": `{}`, "logging/setLevel": `{}`,
		"resources/read": `{"contents":[{"uri":"a:b","text":"a text"}]}`,
		"prompts/get":    `{"messages":[{"role":"user","content":{"type":"text","text":"hello"}}]}`,
	})
	f.prompts = []upstream.Tool{{Name: "greet", Raw: json.RawMessage(`{"name":"greet"}`)}}
	f.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
		if string(c.Arguments) == `{"wait":true}` {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		if c.Progress != nil {
			c.Progress(json.RawMessage(`{"progressToken":"ours","progress":1.0}`))
		}
		return json.RawMessage(`{"content":[{"type":"text","text":"called"}],"a":1.0}`), nil
	}
	s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Prefix: "s", Conn: f}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.ListsChanged("s") // it has connected
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	served := make(chan error)
	go func() { served <- s.Serve(context.Background(), r1, w2) }()
	var mu sync.Mutex
	var came []string
	read := make(chan bool)
	go func() {
		defer close(read)
		lines := bufio.NewScanner(r2)
		for lines.Buffer(nil, 1<<20); lines.Scan(); {
			mu.Lock()
			came = append(came, lines.Text())
			mu.Unlock()
		}
	}()
	var out []txtar.File
	for _, file := range script.Files {
		if !strings.HasPrefix(file.Name, ">") {
			continue
		}
		for line := range strings.Lines(string(file.Data)) {
			told, isTold := strings.CutPrefix(line, "server: ")
			switch {
			case isTold:
				method, params, _ := strings.Cut(strings.TrimSpace(told), " ")
				s.Tell(t.Context(), "s", method, json.RawMessage(params))
			case line == "changed\n":
				f.change()
				s.ListsChanged("s")
			default:
				_, _ = io.WriteString(w1, line)
				synctest.Wait() // requests are answered side by side
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		mu.Lock()
		out = append(out, file, txtar.File{Name: "<", Data: []byte(strings.Join(append(came, ""), "\n"))})
		came = nil
		mu.Unlock()
	}
	w1.Close()
	<-served
	<-read
	script.Files = out
}
