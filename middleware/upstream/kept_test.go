package upstream

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestKept: what a server offered the last time counts until it has connected itself.
func TestKept(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{Instructions: "Now."})
	server.AddTool(&mcp.Tool{Name: "now", InputSchema: map[string]any{"type": "object"}}, nil)
	let, connected := make(chan struct{}), make(chan struct{}, 1)
	kept := Offers{Info: &Info{Instructions: "Then."}, Tools: []Tool{{"then", json.RawMessage(`{"name":"then","inputSchema":{"type":"object"}}`)}}}
	u := New(Options{Name: "s", Kept: kept, Changed: func() { connected <- struct{}{} }, Dial: func(ctx context.Context, h hooks) (*session, error) {
		<-let
		return InProcess(server)(ctx, h)
	}})
	defer u.Close()
	if diff := cmp.Diff(kept, u.Offers()); diff != "" || u.Seen() {
		t.Errorf("seen %t, -want +got:\n%s", u.Seen(), diff)
	}
	close(let)
	<-connected
	now := u.Offers()
	if !u.Seen() || now.Info.Instructions != "Now." || len(now.Tools) != 1 || now.Tools[0].Name != "now" {
		t.Errorf("seen %t, %+v", u.Seen(), now)
	}
	again, err := DecodeOffers(now.Encode())
	if diff := cmp.Diff(now, again); err != nil || diff != "" {
		t.Errorf("%v, as kept (-want +got):\n%s", err, diff)
	}
}
