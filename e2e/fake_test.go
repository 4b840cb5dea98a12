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

var fakeTools = []string{"x", "hub_x", "hang", "child", "huge", "deep", "latin1", "rows", "err"}

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
			Params struct{ Name string }
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
			case "err":
				answer(`{"isError":true,"content":[{"type":"text","text":"no such file: %s"}]}`, strings.Repeat("trace line\\n", 3000))
			default:
				answer(`{"content":[{"type":"text","text":"%s/%s"}]}`, os.Getenv(fakeServer), m.Params.Name)
			}
		}
	}
}
