package auth

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"rlmproxy/middleware/rights"
)

// TestScopes: where issuers write scopes.
func TestScopes(t *testing.T) {
	for _, tt := range []struct {
		claims map[string]any
		want   []string
	}{
		{nil, nil},
		{map[string]any{"scope": "openid files.read"}, []string{"openid", "files.read"}},
		{map[string]any{"scope": ""}, nil},
		{map[string]any{"scp": "files.read"}, []string{"files.read"}},
		{map[string]any{"scp": []any{"files.read", 7, "files.write"}}, []string{"files.read", "files.write"}},
		{map[string]any{"scope": []any{"a b"}}, []string{"a b"}}, // no scope of anybody's
		{map[string]any{"scope": map[string]any{"files.read": true}}, nil},
		{map[string]any{"scope": "a", "scp": "b"}, []string{"a", "b"}},
	} {
		if got := scopes(tt.claims); !slices.Equal(got, tt.want) {
			t.Errorf("%v: %q, want %q", tt.claims, got, tt.want)
		}
	}
}

// TestSetTokens: each change of the tokens, and who is admitted after it.
func TestSetTokens(t *testing.T) {
	const a1, a2, b = "alices-first-token-1", "alices-second-token-2", "bobs-token-bobs-token"
	g, err := New(Options{Tokens: []Token{{"alice", a1}}})
	if err != nil {
		t.Fatal(err)
	}
	var life context.Context
	h := g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		life = Life(r.Context())
		who, _ := rights.From(r.Context())
		fmt.Fprint(w, who.Agent)
	}))
	who := func(secret string) string {
		r := httptest.NewRequest("POST", "http://localhost/mcp", nil)
		r.Header.Set("Authorization", "Bearer "+secret)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 {
			return fmt.Sprint(w.Code)
		}
		return w.Body.String()
	}
	if got := who(a1); got != "alice" {
		t.Fatal(got)
	}
	first := life
	for _, tt := range []struct {
		name       string
		tokens     []Token
		want       string // the change, or the error
		a1, a2, b  string
		firstLives bool
	}{
		{"rotation begins", []Token{{"alice", a1}, {"alice", a2}}, "{1 0 map[]}", "alice", "alice", "401", true},
		{"the same twice", []Token{{"alice", a1}, {"alice", a2}, {"alice", a1}}, "{0 0 map[]}", "alice", "alice", "401", true},
		{"a mistake", []Token{{"alice", "short"}}, "token 1: the token has fewer than 16 characters; openssl rand -hex 32 makes one", "alice", "alice", "401", true},
		{"one of two agents", []Token{{"alice", a1}, {"bob", a1}}, "token 2: it is the same as token 1, which belongs to another agent", "alice", "alice", "401", true},
		{"rotation ends", []Token{{"bob", b}, {"alice", a2}}, "{1 1 map[token:alice:true]}", "401", "alice", "bob", false},
		{"a token is given to another", []Token{{"bob", b}, {"bob", a2}}, "{1 1 map[token:alice:false]}", "401", "bob", "bob", false},
		{"none", nil, "{0 2 map[token:bob:false]}", "401", "401", "401", false},
		{"one again", []Token{{"alice", a1}}, "{1 0 map[]}", "alice", "401", "401", false},
	} {
		change, err := g.SetTokens(tt.tokens)
		got := fmt.Sprint(change)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if x, y, z := who(a1), who(a2), who(b); x != tt.a1 || y != tt.a2 || z != tt.b || (first.Err() == nil) != tt.firstLives {
			t.Errorf("%s: %s %s %s, the first lives: %v", tt.name, x, y, z, first.Err())
		}
		if !g.Authenticates() || who("") == "" {
			t.Errorf("%s: no token is asked for", tt.name)
		}
	}
	if context.Cause(first) != ErrRevoked {
		t.Error(context.Cause(first))
	}
}
