package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// fakeServer is the environment variable that turns the test binary into a
// server whose tools do what real ones do on a bad day. Its value is a tag that
// the server puts into its answers.
const fakeServer = "E2E_FAKE_SERVER"

var fakeTools = []string{"x", "hub_x", "hang", "child", "huge", "deep", "latin1", "rows", "err", "big",
	"echo", "crash", "banner", "twice", "another", "refuse", "neither", "scalar"}

func fake() {
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	in := bufio.NewReader(os.Stdin)
	fmt.Fprintln(out, "fake server 1.0 started\n{\"level\":\"info\"}")
	for {
		out.Flush()
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		if err := json.Unmarshal(line, &m); err != nil {
			panic(err)
		}
		answer := func(format string, args ...any) {
			fmt.Fprintf(out, `{"result":`+format+`,"jsonrpc":"2.0","id":%s}`+"\n", append(args, string(m.ID))...)
		}
		switch m.Method {
		case "initialize":
			answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`)
		case "tools/list":
			var tools []string
			for _, name := range fakeTools {
				tools = append(tools, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
			}
			answer(`{"tools":[%s]}`, strings.Join(tools, ","))
		case "tools/call":
			switch m.Params.Name {
			case "hang":
			case "child":
				cmd := exec.Command("sleep", "1000")
				if err := cmd.Start(); err != nil {
					panic(err)
				}
				answer(`{"content":[{"type":"text","text":"%d %d"}]}`, os.Getpid(), cmd.Process.Pid)
			case "huge":
				answer(`{"content":[{"type":"text","text":"%s needle in %s"}]}`, strings.Repeat("hay ", 7<<20), strings.Repeat("hay ", 8<<20))
			case "deep":
				answer(`{"content":[{"type":"text","text":"x"}],"structuredContent":{"a":%s%s}}`, strings.Repeat("[", 100_000), strings.Repeat("]", 100_000))
			case "latin1":
				answer("{\"content\":[{\"type\":\"text\",\"text\":\"caf\xe9 %s\"}]}", strings.Repeat("cr\xe8me br\xfbl\xe9e ", 3000))
			case "rows":
				answer(`{"content":[{"type":"text","text":"[%s1]"}]}`, strings.Repeat("1,", 9000))
			case "big":
				var a bigArgs
				if err := json.Unmarshal(m.Params.Arguments, &a); err != nil {
					panic(err)
				}
				big(out, m.ID, a)
			case "echo":
				text, _ := json.Marshal(string(m.Params.Arguments))
				answer(`{"content":[{"type":"text","text":%s}]}`, text)
			case "crash":
				os.Exit(3)
			case "banner":
				fmt.Fprintln(out, "downloading 12 %")
				answer(`{"content":[]}`)
			case "twice":
				answer(`{"content":[{"type":"text","text":"one"}]}`)
				answer(`{"content":[{"type":"text","text":"two"}]}`)
			case "another":
				fmt.Fprintln(out, `{"jsonrpc":"2.0","id":"nobody's","result":{"content":[{"type":"text","text":"another"}]}}`)
				answer(`{"content":[{"type":"text","text":"right"}]}`)
			case "refuse":
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"no"}}`+"\n", m.ID)
			case "neither":
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s}`+"\n", m.ID)
			case "scalar":
				answer(`7`)
			case "err":
				answer(`{"isError":true,"content":[{"type":"text","text":"no such file: %s"}]}`, strings.Repeat("trace line\\n", 3000))
			default:
				answer(`{"content":[{"type":"text","text":"%s/%s"}]}`, os.Getenv(fakeServer), m.Params.Name)
			}
		}
	}
}

// bigArgs say what the tool big answers: text of so many megabytes. Seed makes
// it another one.
type bigArgs struct {
	MB   int
	Kind string // "rows" is JSON, "blocks" eight texts, "line" one line, else prose
	Seed int
}

// big writes its answer as it makes it, so that a test of the proxy's memory is
// none of its own.
func big(out *bufio.Writer, id json.RawMessage, a bigArgs) {
	blocks := 1
	if a.Kind == "blocks" {
		blocks = 8
	}
	fmt.Fprint(out, `{"jsonrpc":"2.0","id":`, string(id), `,"result":{"content":[`)
	for b := range blocks {
		if b > 0 {
			out.WriteByte(',')
		}
		out.WriteString(`{"type":"text","text":"`)
		if a.Kind == "rows" {
			out.WriteByte('[')
		}
		for n, i := 0, 0; n < a.MB<<20/blocks; i++ {
			var part string
			word := (i*2654435761 + a.Seed*40503) & 0xffffff
			switch a.Kind {
			case "rows":
				part = fmt.Sprintf(`{\"id\":%d,\"name\":\"item %x\",\"tags\":[\"t%d\",\"u\"],\"price\":%d.25},`, i, word, i%97, word%1000)
			case "line":
				part = fmt.Sprintf(`word%x other_lock_irq%d, `, word, i%13)
			default:
				part = fmt.Sprintf(`%d: the quick %x fox jumps over the lazy dog w%d\n`, i, word, i%5003)
			}
			out.WriteString(part)
			n += len(part)
		}
		if a.Kind == "rows" {
			fmt.Fprintf(out, `{\"id\":-1,\"seed\":%d}]`, a.Seed)
		}
		if a.Kind != "rows" {
			fmt.Fprintf(out, `seed %d`, a.Seed)
		}
		out.WriteString(`"}`)
	}
	out.WriteString("]}}\n")
}
