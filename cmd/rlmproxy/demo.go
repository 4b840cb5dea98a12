package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"

	"rlmproxy/bench/corpus"
	"rlmproxy/config"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/tools"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

// A step is one call of the demo's scripted agent.
type step struct {
	why  string
	tool string
	args string // "ID" stands for the cache_id of the last result that was cut
	show int    // lines of the answer to print
}

// played is what an agent might do that has to find out about webhooks and
// flights. Answers, ids and counts are those of the real stack.
var played = []step{
	{"The agent asks for all webhook events. The result does not fit.", "data_webhook_events", `{}`, 9},
	{"What is in it? The structure of one level.", "proxy_explore", `{"cache_id":"ID","max_depth":1}`, 12},
	{"Which events have the most example payloads? A jq program answers.", "proxy_filter", `{"cache_id":"ID","jq":"[.[] | {name, examples: (.examples|length)}] | sort_by(-.examples)[:5]"}`, 8},
	{"Is there one about security holes? BM25 ranks the records.", "proxy_search", `{"cache_id":"ID","pattern":"security vulnerability repository","mode":"bm25","top_k":1,"fields":["name","description"]}`, 8},
	{"A word misspelt: fuzzy search finds it all the same.", "proxy_search", `{"cache_id":"ID","pattern":"dependabott","mode":"fuzzy","max_results":3,"fields":["name"]}`, 8},
	{"A fresh call, narrowed before the agent reads any of it.", "proxy_filter", `{"tool":"data_flights","arguments":{},"jq":"group_by(.origin) | map({origin: .[0].origin, flights: length}) | sort_by(-.flights)[:3]"}`, 6},
}

// A tally is what the whole task cost.
type tally struct {
	calls   int
	without int // tokens of the results as the server sent them
	read    int // tokens of the replies that the agent read
	tools   int // tokens of our own tool schemas and instructions
}

func (c *cli) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Watch an agent work through the proxy, with nothing to install",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.demo(cmd.Context())
		},
	}
}

func (c *cli) demo(ctx context.Context) error {
	cfg, err := config.Single(config.Server{Name: "data", Command: "in-process", TrustHints: new(true)}, config.Options{})
	if err != nil {
		return err
	}
	cfg.Proxy.LogLevel = "warn"
	cfg.Proxy.PinTools, cfg.Proxy.KeepLists = false, false // they need a folder, which there may not be
	var sent tally
	logger := c.logger(cfg)
	s, err := start(cfg, logger, map[string]*mcp.Server{"data": demoServer(&sent)}, nobody, nil)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.settle(ctx, nil, logger, nil); err != nil {
		return err
	}
	conn, hangUp, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer hangUp()
	list, err := conn.Call(ctx, "tools/list", json.RawMessage(`{}`), nil)
	if err != nil {
		return err
	}
	got, err := play(ctx, c.stdout, conn)
	if err != nil {
		return err
	}
	got.without, got.tools = sent.without, toolCost(list)
	return got.print(c.stdout)
}

// play makes the script's calls and prints each as a person would watch it.
func play(ctx context.Context, w io.Writer, conn *rpc.Conn) (tally, error) {
	var t tally
	id := ""
	for i, st := range played {
		args := strings.ReplaceAll(st.args, `"ID"`, `"`+id+`"`)
		a, err := invoke(ctx, conn, toolCall{st.tool, json.RawMessage(args)})
		if err != nil {
			return t, err
		}
		if a.isError {
			return t, fmt.Errorf("step %d, %s %s: %s", i+1, st.tool, args, a.text)
		}
		if id == "" {
			id = a.cacheID
		}
		t.calls++
		t.read += a.tokens
		fmt.Fprintf(w, "%d. %s\n\n   → %s %s\n", i+1, st.why, st.tool, args)
		lines := strings.Split(strings.TrimRight(a.text, "\n"), "\n")
		for _, line := range lines[:min(st.show, len(lines))] {
			fmt.Fprintf(w, "   │ %s\n", shorten(line, 110))
		}
		if more := len(lines) - st.show; more > 0 {
			fmt.Fprintf(w, "   │ (%d more lines on the agent's side)\n", more)
		}
		fmt.Fprintf(w, "   %s tokens read\n\n", show.Count(a.tokens))
	}
	return t, nil
}

func (t tally) print(w io.Writer) error {
	with := t.read + t.tools
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "the whole task\ttokens\t\n")
	fmt.Fprintf(tw, "without the proxy: the two results, whole\t%s\t\n", show.Count(t.without))
	fmt.Fprintf(tw, "with it: %d replies\t%s\t\n", t.calls, show.Count(t.read))
	fmt.Fprintf(tw, "its own tool schemas and instructions\t%s\t\n", show.Count(t.tools))
	fmt.Fprintf(tw, "saved\t%s (%.1f %%)\t\n", show.Count(t.without-with), 100*float64(t.without-with)/float64(t.without))
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "\nTokens are o200k; above 64 KiB they are an estimate within 2 %.")
	return err
}

// toolCost counts our own part of a tools/list, and the instructions.
func toolCost(list json.RawMessage) int {
	n, _ := tokens.Count([]byte(tools.Instructions))
	for _, t := range gjson.GetBytes(list, "tools").Array() {
		if strings.HasPrefix(t.Get("name").String(), "proxy_") {
			c, _ := tokens.Count([]byte(t.Raw))
			n += c
		}
	}
	return n
}

// demoServer serves files of the corpus and counts what it sends.
func demoServer(sent *tally) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "data", Version: version()}, nil)
	add := func(name, description, file string) {
		s.AddTool(&mcp.Tool{
			Name:        name,
			Description: description,
			InputSchema: map[string]any{"type": "object"},
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			b, err := corpus.Open(file)
			if err != nil {
				return nil, err
			}
			n, _ := tokens.Count(b)
			sent.without += n
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(b)}}}, nil
		})
	}
	add("webhook_events", "GitHub's webhook events with example payloads", "webhooks.json")
	add("flights", "20,000 flights with delay, distance, origin and destination", "flights.json")
	return s
}

func shorten(s string, runes int) string {
	if r := []rune(s); len(r) > runes {
		return string(r[:runes-1]) + "…"
	}
	return s
}
