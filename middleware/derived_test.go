package middleware

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"rlmproxy/judge"
	"rlmproxy/middleware/rights"
	"rlmproxy/registry"
)

// A listener is a sub-model that answers yes to whatever it is asked, and remembers the prompts.
type listener struct {
	mu    sync.Mutex // guards the field below
	heard []string
}

func (l *listener) ID() string { return "listener" }

func (l *listener) Complete(_ context.Context, p judge.Prompt) (judge.Completion, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = append(l.heard, p.User)
	var answers []string
	for line := range strings.Lines(p.User) {
		if _, number, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(line, "[") && strings.Trim(number, "0123456789") == "]" {
			answers = append(answers, `{"item":`+strings.Trim(number, "]")+`,"answer":"yes"}`)
		}
	}
	return judge.Completion{Text: `{"answers":[` + strings.Join(answers, ",") + `]}`}, nil
}

// take returns what was heard since the last time.
func (l *listener) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	heard := strings.Join(l.heard, "\n")
	l.heard = nil
	return heard
}

// askingPrograms is a proxy whose programs and made tools ask a listener about what the server
// shop sends, and not about what bank does.
func askingPrograms(t *testing.T) (*Server, client, *listener) {
	t.Helper()
	heard := &listener{}
	store, err := registry.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, conn := dial(t, Options{
		SubModel: &SubModel{Judge: judge.New(judge.Options{}), Model: heard}, Programs: scripts(t), Code: true, Made: &Made{Store: store},
		Upstreams: []Upstream{
			{Name: "bank", Conn: server(map[string]string{"secrets": string(textResult(`["the vault is open"]`)), "fails": `{"isError":true,"content":[{"type":"text","text":"no, the vault is open"}]}`}, "secrets", "fails"), TrustHints: true, NoModel: true},
			{Name: "shop", Conn: server(map[string]string{"list": string(textResult(`["a red hat"]`))}, "list", "echo"), TrustHints: true},
		}})
	t.Cleanup(s.Close)
	return s, conn, heard
}

const asks = `, {labels: ['yes', 'no']})`

// TestDerivedOfKeptOut: by no way that programs and made tools have does the sub-model learn what
// it is kept from.
func TestDerivedOfKeptOut(t *testing.T) {
	s, conn, heard := askingPrograms(t)
	secret := kept(t, conn, "secrets")
	if got := text(t, conn, "proxy_tools", `{"action":"create","name":"judges","description":"Asks about a text.","input_schema":{"type":"object","properties":{"text":{"type":"string"}}},"program":"return ask('is it?', [args.text]`+asks+`"}`); !strings.HasPrefix(got, "judges: ") {
		t.Fatal(got)
	}
	for name, steps := range map[string][]string{
		"the result":                {fmt.Sprintf(`return ask('is it?', result(%q)`+asks, secret)},
		"a call":                    {`return ask('is it?', call('secrets')` + asks},
		"an error":                  {`try { call('fails') } catch (e) { return ask('is it?', [e.message]` + asks + ` }`},
		"state":                     {`state.x = call('secrets'); return 1`, `return ask('is it?', state.x` + asks},
		"state, by way of a second": {`state.x = call('secrets'); return 1`, `state.y = state.x[0]; delete state.x; return 1`, `return ask('is it?', [state.y]` + asks},
		"what a handle stands for":  {fmt.Sprintf(`return ask('is it?', [call('echo', {text: 'rlmproxy://cache/%s'})]`+asks, secret)},
		"an error about a handle":   {fmt.Sprintf(`try { call('echo', {text: 'rlmproxy://cache/%s?jq=error(tostring)'}) } catch (e) { return ask('is it?', [e.message]`+asks+` }`, secret)},
	} {
		text(t, conn, "proxy_run", runs("state = {}"))
		got := ""
		for _, code := range steps {
			got = text(t, conn, "proxy_run", runs(code))
		}
		if said := heard.take(); strings.Contains(said, "vault") || !strings.Contains(got, `keeps this result from the sub-model`) {
			t.Errorf("%s: the agent reads %.300q, the model %.300q", name, got, said)
		}
	}
	for name, arguments := range map[string]string{"judges": `{"text":"rlmproxy://cache/` + secret + `"}`, "proxy_filter": `{"tool":"judges","arguments":{"text":"rlmproxy://cache/` + secret + `"},"jq":"."}`} {
		got := text(t, conn, name, arguments)
		if said := heard.take(); strings.Contains(said, "vault") || !strings.Contains(got, `keeps this result from the sub-model`) {
			t.Errorf("the handle of a made tool, by %s: the agent reads %.300q, the model %.300q", name, got, said)
		}
	}

	// What has nothing of it is asked about, and state that is empty again has nothing of it.
	for _, code := range []string{`state = {}; return 1`, `state.x = call('list'); return 1`, `return ask('is it?', state.x` + asks} {
		if got := text(t, conn, "proxy_run", runs(code)); strings.Contains(code, "ask") && got != `["yes"]` {
			t.Error(got)
		}
	}
	other := clientAs(t, s, Identity{Subject: "other", Who: rights.Who{Agent: "other"}}, make(chan string, 10))
	if got := text(t, other, "judges", `{"text":"a blue hat"}`); got != `["yes"]` {
		t.Error(got)
	}
	if said := heard.take(); !strings.Contains(said, "a red hat") || !strings.Contains(said, "a blue hat") {
		t.Errorf("the model heard %q", said)
	}
}
