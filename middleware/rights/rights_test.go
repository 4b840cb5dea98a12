package rights

import "testing"

// TestRules is the table of docs/architecture.md and docs/operations.md: who may use what.
func TestRules(t *testing.T) {
	var (
		agents = map[string]Entry{"alice": {Allow: []string{"fs_*"}, Deny: []string{"fs_delete*"}}, "root": {}, "none": {Allow: []string{}}}
		others = map[string]Entry{"alice": agents["alice"], Others: {Allow: []string{"*_read"}}}
		scopes = map[string]Entry{"files.read": {Allow: []string{"fs_read", "fs_list"}}, "files.write": {Allow: []string{"fs_write"}}, "all": {Deny: []string{"*_delete"}}}
		token  = func(agent string) Who { return Who{Agent: agent} }
		jwt    = func(agent string, scopes ...string) Who { return Who{Agent: agent, JWT: true, Scopes: scopes} }
	)
	for _, tt := range []struct {
		name  string
		rules *Rules
		who   Who
		tool  string
		want  bool
	}{
		{"no rules", nil, token("alice"), "fs_delete", true},
		{"no sections", &Rules{}, jwt("alice"), "fs_delete", true},
		{"allowed", &Rules{Agents: agents}, token("alice"), "fs_read", true},
		{"deny counts more", &Rules{Agents: agents}, token("alice"), "fs_delete_all", false},
		{"not allowed", &Rules{Agents: agents}, token("alice"), "db_read", false},
		{"an empty entry", &Rules{Agents: agents}, token("root"), "fs_delete", true},
		{"an empty allow", &Rules{Agents: agents}, token("none"), "fs_read", false},
		{"not named", &Rules{Agents: agents}, token("bob"), "fs_read", false},
		{"nobody", &Rules{Agents: agents}, Who{}, "fs_read", false},
		{"not named, others are", &Rules{Agents: others}, token("bob"), "fs_read", true},
		{"nor may others do all", &Rules{Agents: others}, token("bob"), "fs_list", false},
		{"named, so not one of the others", &Rules{Agents: others}, token("alice"), "db_read", false},
		{"somebody without a name is one of the others", &Rules{Agents: others}, Who{}, "db_read", true},
		{"a JWT by its name", &Rules{Agents: agents}, jwt("alice", "all"), "fs_read", true},
		{"a scope", &Rules{Scopes: scopes}, jwt("bob", "openid", "files.read"), "fs_read", true},
		{"another scope", &Rules{Scopes: scopes}, jwt("bob", "files.read"), "fs_write", false},
		{"scopes add up", &Rules{Scopes: scopes}, jwt("bob", "files.read", "files.write"), "fs_write", true},
		{"what one denies another may allow", &Rules{Scopes: map[string]Entry{"a": {Deny: []string{"x"}}, "b": {Allow: []string{"x"}}}}, jwt("bob", "a", "b"), "x", true},
		{"no scope", &Rules{Scopes: scopes}, jwt("bob"), "fs_read", false},
		{"a scope without entry", &Rules{Scopes: scopes}, jwt("bob", "openid"), "fs_read", false},
		{"a token has no scopes", &Rules{Scopes: scopes}, token("alice"), "fs_read", false},
		{"both must allow: the agent does not", &Rules{Agents: agents, Scopes: scopes}, jwt("alice", "all"), "db_read", false},
		{"both must allow: the scope does not", &Rules{Agents: agents, Scopes: scopes}, jwt("alice", "files.write"), "fs_read", false},
		{"both allow", &Rules{Agents: agents, Scopes: scopes}, jwt("alice", "files.read"), "fs_read", true},
		{"only scopes speak", &Rules{Agents: agents, Scopes: scopes}, jwt("bob", "files.read"), "fs_read", true},
		{"the others are limited by their scopes", &Rules{Agents: others, Scopes: scopes}, jwt("bob", "files.write"), "fs_write", false},
	} {
		if got := tt.rules.Of(tt.who).Allows(Name{Listed: tt.tool}); got != tt.want {
			t.Errorf("%s: %v may use %s: %v, want %v", tt.name, tt.who, tt.tool, got, tt.want)
		}
	}
}

// TestNames: a tool has one name in lists, and others that reach it. Only the first can be
// allowed, any can be denied.
func TestNames(t *testing.T) {
	tool := Name{Listed: "search_0b50102d", Bare: "search", Stable: "search_0b50102d"}
	for _, tt := range []struct {
		entry Entry
		want  bool
	}{
		{Entry{Allow: []string{"search"}}, false},
		{Entry{Allow: []string{"search*"}}, true},
		{Entry{Deny: []string{"search"}}, false},
		{Entry{Deny: []string{"search_0b50102d"}}, false},
		{Entry{Deny: []string{"search_?"}}, true},
		{Entry{Deny: []string{"search_*"}}, false},
	} {
		rules := &Rules{Agents: map[string]Entry{Others: tt.entry}}
		if got := rules.Of(Who{}).Allows(tool); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.entry, got, tt.want)
		}
	}
	first := Name{Listed: "search", Bare: "search", Stable: "search_0b50102d"}
	for deny, want := range map[string]bool{"search_*": true, "search_0b50102d": false, "search": false} {
		rules := &Rules{Agents: map[string]Entry{Others: {Deny: []string{deny}}}}
		if got := rules.Of(Who{}).Allows(first); got != want {
			t.Errorf("deny %s: %v, want %v", deny, got, want)
		}
	}
}

func TestLimitless(t *testing.T) {
	for _, tt := range []struct {
		rules *Rules
		want  bool
	}{
		{nil, true},
		{&Rules{Agents: map[string]Entry{"a": {}}}, true},
		{&Rules{Agents: map[string]Entry{"a": {Allow: []string{"x", "*"}}}}, true},
		{&Rules{Agents: map[string]Entry{"a": {Deny: []string{"x"}}}}, false},
		{&Rules{Agents: map[string]Entry{"a": {Allow: []string{"x*"}}}}, false},
		{&Rules{Agents: map[string]Entry{}}, false},
		{&Rules{Agents: map[string]Entry{"a": {}}, Scopes: map[string]Entry{"s": {Allow: []string{"x"}}}}, false},
		{&Rules{Agents: map[string]Entry{"a": {}}, Scopes: map[string]Entry{"s": {Allow: []string{"x"}}, "t": {}}}, false},
	} {
		if got := tt.rules.Of(Who{Agent: "a", JWT: true, Scopes: []string{"s"}}).Limitless(); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.rules, got, tt.want)
		}
	}
}
