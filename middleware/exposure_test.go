package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/tools"
	"rlmproxy/middleware/upstream"
)

// orders is a server of three tools with schemas.
func orders() *fake {
	f := server(map[string]string{"get_order": string(textResult(`{"order":1.0}`))})
	for name, def := range map[string]string{
		"get_order":    `"description":"Retrieve an order by its number.","inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"number":{"type":"integer","title":"Number"}},"required":["number"]},"annotations":{"readOnlyHint":true}`,
		"refund_order": `"description":"Refund an order.","inputSchema":{"type":"object","properties":{"number":{"type":"integer"},"reason":{"type":"string"}},"required":["number","reason"],"additionalProperties":false},"annotations":{"destructiveHint":true}`,
		"set_price":    `"description":"Change the price of an article.\nSlow.","inputSchema":{"type":"object"}`,
	} {
		f.tools = append(f.tools, upstream.Tool{Name: name, Raw: json.RawMessage(`{"name":"` + name + `",` + def + `}`)})
	}
	slices.SortFunc(f.tools, func(a, b upstream.Tool) int { return strings.Compare(a.Name, b.Name) })
	return f
}

// listedTo are the names in a client's list of tools, without the tools for results.
func listedTo(t *testing.T, conn client) (names []string) {
	t.Helper()
	raw, err := conn.Call(t.Context(), "tools/list", json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range gjson.GetBytes(raw, "tools.#.name").Array() {
		if !slices.Contains(tools.Names, tool.String()) {
			names = append(names, tool.String())
		}
	}
	return names
}

func TestExposure(t *testing.T) {
	three := strings.Join(tools.CatalogueNames, " ")
	all := "shop_get_order shop_refund_order shop_set_price"
	for _, tc := range []struct {
		name   string
		opts   Options
		server Exposure // of another server, with the tool read
		client string
		want   string
	}{
		{"short", Options{}, "", "x", all + " files_read"},
		{"long", Options{CatalogueTokens: 100}, "", "x", three},
		{"long for a client that searches itself", Options{CatalogueTokens: 100}, "", "claude-code", all + " files_read"},
		{"long but for one", Options{CatalogueTokens: 100}, ExposeAll, "x", "files_read " + three},
		{"all", Options{Exposure: ExposeAll, CatalogueTokens: 100}, "", "x", all + " files_read"},
		{"search", Options{Exposure: ExposeSearch}, "", "x", three},
		{"search of one", Options{}, ExposeSearch, "x", all + " " + three},
		{"groups", Options{Exposure: ExposeGroups}, "", "x", three},
		{"groups and all", Options{Exposure: ExposeGroups}, ExposeAll, "x", "files_read " + three},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.opts.Upstreams = []Upstream{{Name: "shop", Prefix: "shop", Conn: orders()}, {Name: "files", Prefix: "files", Conn: server(nil, "read"), Exposure: tc.server}}
			s, _ := dial(t, tc.opts)
			conn := connectAs(t, s, tc.client)
			if got := strings.Join(listedTo(t, conn), " "); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestStandIn: the tools that stand in for others say which servers there are, and whether
// what they call may act.
func TestStandIn(t *testing.T) {
	shop := Upstream{Name: "shop", Prefix: "shop", Conn: orders(), Description: "Orders and prices. Ask Ann."}
	files := Upstream{Name: "files", Prefix: "files", Conn: server(nil, "read"), TrustHints: true}
	said := server(nil, "read")
	said.info = &upstream.Info{Instructions: "Reads notes. More\nlines"}
	notes := Upstream{Name: "notes", Prefix: "notes", Conn: said}
	named := Upstream{Name: "named", Prefix: "named", Conn: server(nil, "read"), Fresh: []string{"*"}}
	later := Upstream{Name: "later", Prefix: "later", Conn: &fake{state: upstream.Connecting}}
	for _, tc := range []struct {
		exposure Exposure
		ups      []Upstream
		want     string
	}{
		{ExposeGroups, []Upstream{notes}, "Servers: \n- notes: \"Reads notes. More\". false"},
		{ExposeSearch, []Upstream{shop, files}, "Servers: shop, files. false"},
		{ExposeGroups, []Upstream{shop, files}, "Servers: \n- shop: Orders and prices.\n- files. false"},
		{ExposeSearch, []Upstream{files}, "Servers: files. true"},
		{ExposeSearch, []Upstream{named}, "Servers: named. false"}, // the operator's list may name what acts
		{ExposeSearch, []Upstream{files, later}, "Servers: files, later. false"},
		{ExposeSearch, []Upstream{shop}, "Servers: shop. false"},
	} {
		_, conn := dial(t, Options{Exposure: tc.exposure, FreshCalls: FreshAll, ListWait: 1, Upstreams: tc.ups})
		raw, err := conn.Call(t.Context(), "tools/list", json.RawMessage(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		find := gjson.GetBytes(raw, `tools.#(name=="proxy_find_tools").description`).String()
		readOnly := gjson.GetBytes(raw, `tools.#(name=="proxy_call_tool").annotations.readOnlyHint`).Raw
		if got := find[strings.Index(find, "Servers:"):] + " " + readOnly; got != tc.want {
			t.Errorf("%s: got  %q\nwant %q", tc.exposure, got, tc.want)
		}
	}
}

func TestFindTools(t *testing.T) {
	down := &fake{state: upstream.Failed, err: fmt.Errorf("no such program")}
	_, conn := dial(t, Options{Exposure: ExposeSearch, Upstreams: []Upstream{
		{Name: "shop", Prefix: "shop", Conn: orders(), Description: "Orders and prices."},
		{Name: "files", Prefix: "files", Conn: server(nil, "read_file", "write_file")},
		{Name: "down", Prefix: "down", Conn: down},
	}})
	refund := "shop_refund_order(number: integer, reason: string) [destructive] Refund an order."
	for _, tc := range []struct{ args, want string }{
		{`{"query":"give a customer the money of an order back, refund"}`, refund + "\nshop_get_order(number: integer) [read-only] Retrieve an order by its number."},
		{`{"query":"refund","limit":1}`, refund},
		{`{"query":"refnud"}`, refund},
		{`{"query":"update price"}`, "shop_set_price() Change the price of an article."},
		{`{"server":"files"}`, "files_read_file() [read-only]\nfiles_write_file() [read-only]"},
		{`{"server":"files","limit":1}`, "[1 of 2 tools · limit shows more]\nfiles_read_file() [read-only]"},
		{`{"query":"refund","server":"files"}`, "no tool is found; the servers are:"},
		{`{}`, "shop: 3 tools. Orders and prices.\nfiles: 2 tools\ndown: 0 tools, failed: no such program"},
		{`{"query":"xyzzy"}`, "no tool is found; the servers are:\nshop: 3 tools. Orders and prices.\nfiles: 2 tools\ndown: 0 tools, failed: no such program"},
		{`{"server":"fils"}`, "bad_arguments: no server \"fils\"\nhint: the servers are shop, files, down"},
		{`{"query":1}`, "bad_arguments: proxy_find_tools: \"query\" must be a string, not 1\nhint: a right call: proxy_find_tools {\"query\":\"read a file\"}"},
		{`{"limit":0}`, "bad_arguments: proxy_find_tools: limit must be 1 to 100\nhint: a right call: proxy_find_tools {\"query\":\"read a file\"}"},
	} {
		if got := text(t, conn, "proxy_find_tools", tc.args); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: got  %q\nwant %q", tc.args, got, tc.want)
		}
	}
}

func TestDescribeTools(t *testing.T) {
	_, conn := dial(t, Options{Exposure: ExposeSearch, Upstreams: []Upstream{{Name: "shop", Prefix: "shop", Conn: orders()}}})
	order := `{"name":"shop_get_order","description":"Retrieve an order by its number.","inputSchema":{"type":"object","properties":{"number":{"type":"integer"}},"required":["number"]},"annotations":{"readOnlyHint":true}}`
	for _, tc := range []struct{ args, want string }{
		{`{"names":["shop_get_order"]}`, order},
		{`{"names":["nothing","shop_get_order"]}`, `{"name":"nothing","error":"unknown_tool: no tool \"nothing\"`},
		{`{"names":["shop_get_order","proxy_search"]}`, order + "\n" + `{"name":"proxy_search","error":"bad_arguments: proxy_search is the proxy's own: your list of tools describes it"}`},
		{`{"names":["nothing"]}`, "unknown_tool: no tool \"nothing\""},
		{`{"names":[]}`, `bad_arguments: proxy_describe_tools: names is missing` + "\n" + `hint: a right call: proxy_describe_tools {"names":[]}`},
		{`{}`, `bad_arguments: proxy_describe_tools: names is missing` + "\n" + `hint: a right call: proxy_describe_tools {"names":["…"]}`},
	} {
		if got := text(t, conn, "proxy_describe_tools", tc.args); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: got  %s\nwant %s", tc.args, got, tc.want)
		}
	}
}

// TestCallTool: what proxy_call_tool answers is what a direct call would.
func TestCallTool(t *testing.T) {
	f := orders()
	long := string(textResult(records(500)))
	answers := map[string]string{"get_order": `{"content":[{"type":"text","text":"{\"z\":1.0}"}],"structuredContent":{"z":1.0,"a":9007199254740993},"x":[1e400]}`, "set_price": long}
	f.call = func(_ context.Context, c toolCall) (json.RawMessage, error) {
		if a := answers[c.Name]; a != "" {
			return json.RawMessage(a), nil
		}
		return textResult(c.Name + string(c.Arguments)), nil
	}
	s, _ := dial(t, Options{Exposure: ExposeSearch, NoDifferences: true, Upstreams: []Upstream{{Name: "shop", Prefix: "shop", Conn: f}}})
	conn := connect(t, s)
	for _, tc := range []struct{ tool, args string }{
		{"shop_get_order", `{"number":1}`},
		{"shop_refund_order", `{ "number": 1.0, "reason": "\u00e9" }`},
		{"shop_set_price", `{}`},
		{"shop_nothing", `{}`},
	} {
		direct := call(t, conn, tc.tool, tc.args)
		through := call(t, conn, "proxy_call_tool", `{"name":"`+tc.tool+`","arguments":`+tc.args+`}`)
		if direct != through {
			t.Errorf("%s: got  %.300s\nwant %.300s", tc.tool, through, direct)
		}
	}
	for _, tc := range []struct{ args, want string }{
		{`{"name":"shop_refund_order","arguments":{"number":"1","why":"x"}}`, "bad_arguments: shop_refund_order: /number: got string, want integer; additional properties 'why' not allowed; missing property 'reason'\nhint: its input schema is " + `{"type":"object","properties":{"number":{"type":"integer"},"reason":{"type":"string"}},"required":["number","reason"],"additionalProperties":false}`},
		{`{"name":"shop_refund_order"}`, "bad_arguments: shop_refund_order: missing properties 'number', 'reason'\nhint:"},
		{`{"name":"proxy_filter"}`, "bad_arguments: proxy_call_tool calls tools of servers, and proxy_filter is the proxy's own\nhint: call proxy_filter itself"},
		{`{"name":"shop_get_order","number":1}`, "bad_arguments: proxy_call_tool: no parameter \"number\"; what the called tool takes goes into \"arguments\"\nhint: a right call: proxy_call_tool {\"name\":\"shop_get_order\",\"arguments\":{\"number\":1}}"},
		{`{"arguments":{}}`, "bad_arguments: proxy_call_tool: name is missing\nhint: a right call: proxy_call_tool {\"name\":\"…\",\"arguments\":{}}"},
		{`{"tool":"shop_get_order","arguments":{"number":1}}`, "bad_arguments: proxy_call_tool: no parameter \"tool\"; did you mean \"name\"?\nhint: a right call: proxy_call_tool {\"name\":\"shop_get_order\",\"arguments\":{\"number\":1}}"},
	} {
		if got := text(t, conn, "proxy_call_tool", tc.args); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: got  %s\nwant %s", tc.args, got, tc.want)
		}
	}
}

// TestQueryOfACall: a query names the tool that is called, and not the one that calls.
func TestQueryOfACall(t *testing.T) {
	_, conn := dial(t, Options{Exposure: ExposeSearch, FreshCalls: FreshAll, Upstreams: []Upstream{{Name: "shop", Prefix: "shop", Conn: orders()}}})
	for args, want := range map[string]string{
		`{"pattern":"x","tool":"proxy_call_tool","arguments":{"name":"shop_get_order","arguments":{"number":1}}}`: "bad_arguments: proxy_search: tool is one of a server, not proxy_call_tool\nhint: give the server's tool itself: \"tool\":\"shop_get_order\",\"arguments\":{\"number\":1}",
		`{"pattern":"x","tool":"proxy_call_tool"}`:                                                                "bad_arguments: proxy_search: tool is one of a server, not proxy_call_tool\nhint: give the server's tool itself: \"tool\":\"…\",\"arguments\":{…}",
	} {
		if got := text(t, conn, "proxy_search", args); got != want {
			t.Errorf("%s: got  %q\nwant %q", args, got, want)
		}
	}
}

// TestExposureHasRights: what an agent may not use is neither found, described nor called.
func TestExposureHasRights(t *testing.T) {
	rules := &rights.Rules{Agents: map[string]rights.Entry{"*": {Allow: []string{"shop_get_*"}}}}
	_, conn := dial(t, Options{Exposure: ExposeGroups, Rights: rules, Upstreams: []Upstream{
		{Name: "hidden", Prefix: "hidden", Conn: server(nil, "ordar")},
		{Name: "shop", Prefix: "shop", Conn: orders()}, {Name: "files", Prefix: "files", Conn: server(nil, "read")},
	}})
	raw, err := conn.Call(t.Context(), "tools/list", json.RawMessage(`{}`))
	if err != nil || strings.Contains(string(raw), "files") {
		t.Errorf("listed: %s, %v", raw, err)
	}
	for tool, args := range map[string]string{
		"proxy_find_tools": `{"query":"refund order, read file, price"}`, "proxy_describe_tools": `{"names":["shop_refund_order","shop_get_order"]}`,
		"proxy_call_tool": `{"name":"files_read","arguments":{}}`,
	} {
		got := text(t, conn, tool, args)
		for _, hidden := range []string{"Refund", "reason", "shop_set_price", "files:"} {
			if strings.Contains(got, hidden) {
				t.Errorf("%s %s: %s", tool, args, got)
			}
		}
	}
	// A word of a tool that it may not use is as misspelt as one that nobody has.
	if got := text(t, conn, "proxy_find_tools", `{"query":"ordar"}`); !strings.HasPrefix(got, "shop_get_order(") {
		t.Errorf("found: %s", got)
	}
	if got := text(t, conn, "proxy_find_tools", `{}`); got != "shop: 1 tool" {
		t.Errorf("servers: %q", got)
	}
}

// TestFoundToolsAreListed: a session whose agent had tools described is told that it has them.
func TestFoundToolsAreListed(t *testing.T) {
	s, _ := dial(t, Options{Exposure: ExposeSearch, ListFound: true, Upstreams: []Upstream{{Name: "shop", Prefix: "shop", Conn: orders()}}})
	told := make(chan string, 10)
	conn := clientOf(t, s, nil, clientOptions{Notify: func(method string, _ json.RawMessage) { told <- method }})
	other := connect(t, s)
	listedTo(t, conn)
	text(t, conn, "proxy_describe_tools", `{"names":["shop_get_order"]}`)
	if method := <-told; method != "notifications/tools/list_changed" {
		t.Errorf("told %s", method)
	}
	three := strings.Join(tools.CatalogueNames, " ")
	if got := strings.Join(listedTo(t, conn), " "); got != "shop_get_order "+three {
		t.Errorf("listed %s", got)
	}
	if got := strings.Join(listedTo(t, other), " "); got != three {
		t.Errorf("another session has %s", got)
	}
}

// TestReadOnlyServer: a server that is to be read only offers nothing else.
func TestReadOnlyServer(t *testing.T) {
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "shop", Prefix: "shop", Conn: orders(), ReadOnly: true}}})
	if got := strings.Join(listedTo(t, conn), " "); got != "shop_get_order" {
		t.Errorf("listed %s", got)
	}
	if got := text(t, conn, "shop_refund_order", `{}`); !strings.HasPrefix(got, "unknown_tool:") {
		t.Errorf("called: %s", got)
	}
}

// TestFeatures: of a server is offered what its operator wants of it.
func TestFeatures(t *testing.T) {
	f := orders()
	f.info = &upstream.Info{Capabilities: &mcp.ServerCapabilities{Prompts: &mcp.PromptCapabilities{}, Resources: &mcp.ResourceCapabilities{}}}
	f.prompts = []upstream.Tool{{Name: "p", Raw: json.RawMessage(`{"name":"p"}`)}}
	for _, tc := range []struct {
		features []string
		want     string
	}{
		{nil, "3 1"}, {[]string{"tools"}, "3 0"}, {[]string{"prompts", "resources"}, "0 1"}, {[]string{}, "0 0"},
	} {
		_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "shop", Prefix: "shop", Conn: f, Features: tc.features}}})
		prompts, err := conn.Call(t.Context(), "prompts/list", json.RawMessage(`{}`))
		if err != nil && len(tc.features) != 1 {
			t.Error(err)
		}
		if got := fmt.Sprint(len(listedTo(t, conn)), len(gjson.GetBytes(prompts, "prompts").Array())); got != tc.want {
			t.Errorf("%v: got %s, want %s", tc.features, got, tc.want)
		}
	}
}

// TestCallToolIsAskedAbout: a person is asked, once, about a tool that may act, unless all may
// be called. What they say is not for the server.
func TestCallToolIsAskedAbout(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		for _, tc := range []struct {
			fresh FreshCalls
			up    Upstream
			want  string // the answers to questions
		}{
			{FreshAsk, Upstream{}, "accept"}, {FreshReadOnly, Upstream{}, "accept"}, {FreshNone, Upstream{}, "accept"}, {FreshAll, Upstream{}, ""},
			{FreshNone, Upstream{Fresh: []string{"refund_*"}}, ""}, {FreshNone, Upstream{TrustHints: true}, "accept"},
		} {
			f, asked := orders(), ""
			f.raw = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
				return textResult(string(r.Params)), nil
			}
			tc.up.Name, tc.up.Prefix, tc.up.Conn = "shop", "shop", f
			s, _ := dial(t, Options{Exposure: ExposeSearch, FreshCalls: tc.fresh, NoDifferences: true, Upstreams: []Upstream{tc.up}})
			conn := clientOf(t, s, canElicit, clientOptions{Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				asked += "accept"
				return json.RawMessage(`{"action":"accept"}`), nil
			}})
			request := `"name":"proxy_call_tool","arguments":{"name":"shop_refund_order","arguments":{"number":1,"reason":"x"}}`
			if stateless {
				request += "," + statelessMeta("")
			}
			for range 2 {
				got := ask(t, conn, "tools/call", `{`+request+`}`)
				if state := gjson.Get(got, "requestState"); state.Exists() {
					asked += "accept"
					got = ask(t, conn, "tools/call", `{`+request+`,"requestState":`+state.Raw+`,"inputResponses":{"consent":{"action":"accept"}}}`)
				}
				if sent := gjson.Get(got, "content.0.text").String(); !strings.Contains(sent, `"name":"refund_order"`) || strings.Contains(sent, "consent") {
					t.Errorf("%s, stateless %t: the server is sent %s", tc.fresh, stateless, got)
				}
			}
			if asked != tc.want {
				t.Errorf("%s, stateless %t: asked %q, want %q", tc.fresh, stateless, asked, tc.want)
			}
		}
	}
}

// TestCallToolShowsWholeSchemas: an error has the schema of the tool, or says where it is.
func TestCallToolShowsWholeSchemas(t *testing.T) {
	f := server(nil, "x")
	f.tools[0].Raw = json.RawMessage(`{"name":"x","inputSchema":{"required":["a"],"description":"` + strings.Repeat("a", 2000) + `"}}`)
	_, conn := dial(t, Options{Exposure: ExposeSearch, Upstreams: []Upstream{{Name: "s", Conn: f}}})
	want := "bad_arguments: x: missing property 'a'\nhint: proxy_describe_tools {\"names\":[\"x\"]} shows its input schema"
	if got := text(t, conn, "proxy_call_tool", `{"name":"x"}`); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestServerIsMeantByItsName: also where its name is the prefix of another one.
func TestServerIsMeantByItsName(t *testing.T) {
	_, conn := dial(t, Options{Exposure: ExposeSearch, Upstreams: []Upstream{
		{Name: "a", Prefix: "b", Conn: server(nil, "x")}, {Name: "b", Prefix: "c", Conn: server(nil, "y")},
	}})
	for name, want := range map[string]string{"a": "b_x() [read-only]", "b": "c_y() [read-only]", "c": "c_y() [read-only]"} {
		if got := text(t, conn, "proxy_find_tools", `{"server":"`+name+`"}`); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
