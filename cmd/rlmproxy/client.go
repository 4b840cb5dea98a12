package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"

	"rlmproxy/cmd/rlmproxy/terminal"
	"rlmproxy/config"
	"rlmproxy/jsonscan"
	"rlmproxy/middleware"
	"rlmproxy/middleware/frame"
	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

// quiet is the level of commands whose output somebody reads, with the log beside it.
const quiet = "warn"

// A failedCall ends the program with exitFailed; its text was already printed.
type failedCall struct{}

func (*failedCall) Error() string { return "the call failed" }

// split returns the arguments before -- and the server's command after it, nil
// if there is no --.
func split(cmd *cobra.Command, args []string) (before, command []string) {
	at := cmd.ArgsLenAtDash()
	if at < 0 {
		return args, nil
	}
	return args[:at], args[at:]
}

// open starts the server that command names, or takes that at a URL, or those of the file, and connects
// to the proxy in front, as that agent if the flag is set. It waits for the servers that the
// calls need, and without calls for all.
func (c *cli) open(cmd *cobra.Command, w wrapFlags, command []string, agent *string, calls []toolCall) (s *stack, conn *rpc.Conn, done func(), err error) {
	var cfg *config.Config
	if command != nil || cmd.Flags().Changed("url") || cmd.Flags().Changed("header") {
		w.isolation = "shared"
		cfg, err = c.wrapped(cmd, w, command)
	} else {
		cfg, err = c.load(cmd)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if f := cmd.Flags().Lookup("log-level"); f == nil || !f.Changed {
		cfg.Proxy.LogLevel = quiet
	}
	var rules *rights.Rules // whoever has the file may look at everything
	if cmd.Flags().Changed("agent") {
		if rules, err = rightsAs(cfg, *agent); err != nil {
			return nil, nil, nil, err
		}
	}
	logger := c.logger(cfg)
	s, err = start(cfg, logger, nil, nobody, rules)
	if err != nil {
		return nil, nil, nil, err
	}
	var servers []string
	if calls != nil {
		servers = s.needed(calls)
	}
	if err := s.settle(cmd.Context(), c.log.Waiting, logger, servers); err != nil {
		s.close()
		return nil, nil, nil, err
	}
	conn, hangUp, err := s.dial(cmd.Context())
	if err != nil {
		s.close()
		return nil, nil, nil, err
	}
	return s, conn, func() { hangUp(); s.close() }, nil
}

func agentFlag(cmd *cobra.Command, agent *string) {
	cmd.Flags().StringVar(agent, "agent", "", "see and use only what this `agent` of proxySettings.agents may use")
}

func (c *cli) toolsCommand() *cobra.Command {
	var asJSON, hidden bool
	var agent string
	var w wrapFlags
	cmd := &cobra.Command{
		Use:               "tools [flags] [--url URL | -- COMMAND [ARGUMENT...]]",
		Short:             "List the tools as an agent sees them, and what they cost in tokens",
		Example:           "  rlmproxy tools\n  rlmproxy tools -- npx -y @modelcontextprotocol/server-filesystem .\n  rlmproxy tools --url https://mcp.example.com/mcp",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			before, command := split(cmd, args)
			if err := noArgs(cmd, before); err != nil {
				return err
			}
			s, conn, done, err := c.open(cmd, w, command, &agent, nil)
			if err != nil {
				return err
			}
			defer done()
			if hidden {
				return c.printHidden(s, asJSON)
			}
			listed := c.log.Progress(func() string { return "listing tools" })
			raw, err := listTools(cmd.Context(), conn)
			listed()
			if err != nil {
				return err
			}
			if asJSON {
				_, err = fmt.Fprintln(c.stdout, terminal.For(c.stdout, string(raw)))
				return err
			}
			if err := c.printTools(raw); err != nil {
				return err
			}
			if err := c.printFound(s); err != nil {
				return err
			}
			if !cmd.Flags().Changed("agent") {
				c.printStates(s)
			}
			return c.printFindings(s.server.Findings())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result of tools/list")
	cmd.Flags().BoolVar(&hidden, "hidden", false, "list the tools that are not in that list, and why")
	agentFlag(cmd, &agent)
	urlFlags(cmd, &w)
	c.settings(cmd, listShows...)
	cmd.Flags().Lookup("log-level").DefValue = quiet
	return cmd
}

// listTools is the result of tools/list, its pages joined.
func listTools(ctx context.Context, conn *rpc.Conn) (json.RawMessage, error) {
	var all []json.RawMessage
	for params := json.RawMessage(`{}`); ; {
		raw, err := conn.Call(ctx, "tools/list", params, nil)
		if err != nil {
			return nil, err
		}
		next := jsonscan.Member(raw, "nextCursor")
		if all == nil && next == nil {
			return raw, nil // as it came
		}
		err = jsonscan.Elements(jsonscan.Member(raw, "tools"), func(t json.RawMessage) error {
			all = append(all, t)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if next == nil {
			tools := []byte{'['}
			for _, t := range all {
				tools = jsonscan.AppendElement(tools, t)
			}
			return jsonscan.Rewrite(raw, func(key string, value json.RawMessage) json.RawMessage {
				if key == "tools" {
					return append(tools, ']')
				}
				return value
			})
		}
		params = jsonscan.Object("cursor", next)
	}
}

func (c *cli) printTools(raw json.RawMessage) error {
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TOOL\tTOKENS\tDESCRIPTION")
	all, ours := 0, 0
	tools := gjson.GetBytes(raw, "tools").Array()
	for _, t := range tools {
		name := t.Get("name").String()
		n, _ := tokens.Count([]byte(t.Raw))
		all += n
		if strings.HasPrefix(name, "proxy_") {
			ours += n
		}
		line, _, _ := strings.Cut(strings.TrimSpace(t.Get("description").String()), "\n")
		line = terminal.Visible(strings.ReplaceAll(strings.TrimRight(line, "\r"), "\t", " ")) // a table is for people, wherever it goes
		if r := []rune(line); len(r) > 60 {
			line = string(r[:59]) + "…"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\n", name, n, line)
	}
	fmt.Fprintf(w, "%d tools\t%d\tincluding the proxy's own: %d\n", len(tools), all, ours)
	if err := w.Flush(); err != nil {
		return err
	}
	for _, l := range gjson.GetBytes(raw, `_meta.rlmproxy/left_out`).Array() {
		var names []string
		for _, n := range l.Get("tools").Array() {
			names = append(names, strconv.Quote(n.String())) // which may hold anything
		}
		if more := int(l.Get("number").Int()) - len(names); more > 0 {
			names = append(names, fmt.Sprintf("and %s more", show.Count(more)))
		}
		if _, err := fmt.Fprintf(c.stdout, "left out of server %q (%q): %s\n", l.Get("server").String(), l.Get("why").String(), strings.Join(names, " ")); err != nil {
			return err
		}
	}
	return nil
}

// printFound says how many tools an agent finds that are not in its list.
func (c *cli) printFound(s *stack) error {
	all, err := s.server.HiddenTools(cliName)
	n := 0
	for _, t := range all {
		if t.Found {
			n++
		}
	}
	if err == nil && n > 0 {
		_, err = fmt.Fprintf(c.stdout, "%s not in the list: an agent finds them with proxy_find_tools (--hidden names them, --exposure all lists them)\n", show.Plural(n, "tools"))
	}
	return err
}

// printHidden prints which tools of servers are not in the list of tools, and why.
func (c *cli) printHidden(s *stack, asJSON bool) error {
	all, err := s.server.HiddenTools(cliName)
	if err != nil {
		return err
	}
	if asJSON {
		raw, err := json.Marshal(append([]middleware.HiddenTool{}, all...))
		if err == nil {
			_, err = fmt.Fprintln(c.stdout, terminal.For(c.stdout, string(raw)))
		}
		return err
	}
	if len(all) == 0 {
		fmt.Fprintln(c.stdout, "no tool is hidden")
	} else {
		w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "SERVER\tTOOL\tWHY IT IS NOT LISTED")
		for _, t := range all {
			fmt.Fprintf(w, "%s\t%s\t%s\n", terminal.Visible(t.Server), terminal.Visible(t.Tool), terminal.Visible(t.Why))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	c.printStates(s)
	return nil
}

// printStates prints which servers have no tools in the list, and why.
func (c *cli) printStates(s *stack) {
	for _, r := range s.list() {
		name := r.entry.Name
		switch state, err := s.state(r); state {
		case upstream.Ready:
		case upstream.Failed:
			fmt.Fprintf(c.stdout, "server %q failed: %s\n", name, frame.OneLine(err.Error()))
		default:
			fmt.Fprintf(c.stdout, "server %q is %v\n", name, state)
		}
	}
}

// printFindings prints what is odd in what servers say of themselves.
func (c *cli) printFindings(findings []string) error {
	for i, f := range findings {
		if i == 0 {
			fmt.Fprintln(c.stdout, "\nto review:")
		}
		if _, err := fmt.Fprintln(c.stdout, " ", f); err != nil {
			return err
		}
	}
	return nil
}

func (c *cli) callCommand() *cobra.Command {
	var asJSON bool
	var agent string
	var w wrapFlags
	cmd := &cobra.Command{
		Use:   "call [flags] TOOL [JSON] [TOOL [JSON]]... [--url URL | -- COMMAND [ARGUMENT...]]",
		Short: "Call tools through the proxy, from a terminal",
		Long: `Call makes one call after the other and prints what an agent would read. In a
later call "cache_id":"last" stands for the cache_id of the reply before it.

On a terminal, control characters of a server are written out, as \u001b; a pipe or
file gets the bytes that an agent gets.`,
		Example: `  rlmproxy call directory_tree '{"path":"."}' proxy_explore '{"cache_id":"last"}' \
    -- npx -y @modelcontextprotocol/server-filesystem .
  rlmproxy call --json search '{"q":"x"}' --url https://mcp.example.com/mcp --header 'Authorization: Bearer ${TOKEN}'`,
		ValidArgsFunction: c.completing(0, c.toolNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			before, command := split(cmd, args)
			calls, err := parseCalls(before)
			if err != nil {
				return err
			}
			_, conn, done, err := c.open(cmd, w, command, &agent, calls)
			if err != nil {
				return err
			}
			defer done()
			return c.callAll(cmd.Context(), conn, calls, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print whole results as JSON, one per line")
	agentFlag(cmd, &agent)
	urlFlags(cmd, &w)
	c.settings(cmd, callShows...)
	cmd.Flags().Lookup("log-level").DefValue = quiet
	return cmd
}

type toolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// parseCalls pairs tools with the JSON that follows them.
func parseCalls(args []string) ([]toolCall, error) {
	var calls []toolCall
	for _, arg := range args {
		if !strings.HasPrefix(strings.TrimSpace(arg), "{") {
			if json.Valid([]byte(arg)) {
				return nil, &usageError{fmt.Errorf("arguments are an object, not %s", arg), `rlmproxy call TOOL '{"path":"."}'`}
			}
			calls = append(calls, toolCall{arg, json.RawMessage(`{}`)})
			continue
		}
		if len(calls) == 0 {
			return nil, &usageError{errors.New("arguments without a tool"), `rlmproxy call TOOL '{"path":"."}'`}
		}
		if !json.Valid([]byte(arg)) {
			return nil, &usageError{fmt.Errorf("the arguments of %s are not JSON: %s", calls[len(calls)-1].Name, arg), `quote them for the shell: '{"path":"."}'`}
		}
		calls[len(calls)-1].Arguments = json.RawMessage(arg)
	}
	if len(calls) == 0 {
		return nil, &usageError{errors.New("no tool to call"), "rlmproxy tools lists them"}
	}
	return calls, nil
}

// lastID is what stands for the id of the reply before.
var lastID = regexp.MustCompile(`"cache_id"\s*:\s*"last"`)

func (c *cli) callAll(ctx context.Context, conn *rpc.Conn, calls []toolCall, asJSON bool) error {
	last := ""
	failed := false
	for i, call := range calls {
		if last == "" && lastID.Match(call.Arguments) {
			return fmt.Errorf(`%s: "last" needs an earlier reply with a cache_id, and no reply was cut. With "tool" and "arguments" in place of "cache_id", %[1]s makes the call itself and keeps any result`, call.Name)
		}
		call.Arguments = lastID.ReplaceAll(call.Arguments, []byte(`"cache_id":"`+last+`"`))
		called := c.log.Progress(func() string { return "calling " + call.Name })
		a, err := invoke(ctx, conn, call)
		called()
		if err != nil {
			return err
		}
		if a.cacheID != "" {
			last = a.cacheID
		}
		failed = failed || a.isError
		if asJSON {
			fmt.Fprintln(c.stdout, terminal.For(c.stdout, string(a.raw)))
			continue
		}
		if i > 0 {
			fmt.Fprintln(c.stdout)
		}
		fmt.Fprintln(c.stdout, terminal.For(c.stdout, strings.TrimRight(a.text, "\n")))
	}
	if failed {
		return &failedCall{}
	}
	return nil
}

// An answer is a call's result as an agent reads it.
type answer struct {
	raw     json.RawMessage
	text    string // text blocks, and one line for each other block
	cacheID string
	tokens  int // of the text
	isError bool
}

func invoke(ctx context.Context, conn *rpc.Conn, call toolCall) (answer, error) {
	params, err := json.Marshal(call)
	if err != nil {
		return answer{}, err
	}
	raw, err := conn.Call(ctx, "tools/call", params, nil)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", call.Name, err)
	}
	r := gjson.ParseBytes(raw)
	a := answer{raw: raw, cacheID: r.Get("_meta.rlmproxy/result.cache_id").String(), isError: r.Get("isError").Bool()}
	var b strings.Builder
	for i, block := range r.Get("content").Array() {
		if i > 0 {
			b.WriteByte('\n')
		}
		switch kind := block.Get("type").String(); kind {
		case "text":
			b.WriteString(block.Get("text").String())
		default:
			fmt.Fprintf(&b, "(%s %s%s)", kind, block.Get("mimeType"), block.Get("uri"))
		}
	}
	a.text = b.String()
	a.tokens, _ = tokens.Count([]byte(a.text))
	return a, nil
}
