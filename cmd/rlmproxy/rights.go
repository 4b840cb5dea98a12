package main

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"

	"rlmproxy/config"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/rights"
)

// rulesOf are the rules of the configuration, nil if it has none.
func rulesOf(cfg *config.Config) *rights.Rules {
	if cfg.Agents == nil && cfg.Scopes == nil {
		return nil
	}
	section := func(in map[string]config.Rights) map[string]rights.Entry {
		if in == nil {
			return nil
		}
		out := map[string]rights.Entry{}
		for who, r := range in {
			out[who] = rights.Entry{Allow: r.Allow, Deny: r.Deny}
		}
		return out
	}
	return &rights.Rules{Agents: section(cfg.Agents), Scopes: section(cfg.Scopes)}
}

func sameRules(a, b *rights.Rules) bool { return reflect.DeepEqual(a, b) }

// httpRights are the rules for clients that come over HTTP.
func httpRights(cfg *config.Config, guard *auth.Guard) (*rights.Rules, error) {
	rules := rulesOf(cfg)
	if rules != nil && !guard.Authenticates() {
		return nil, &usageError{errors.New("proxySettings.agents restricts nobody: no token is asked for, so nobody knows which agent connects"),
			"set RLMPROXY_HTTP_TOKENS, httpTokensFile or httpJWTIssuer, or remove agents"}
	}
	return rules, nil
}

// pipeRights are the rules for the client at stdin and stdout, which has no name.
func pipeRights(cfg *config.Config) (*rights.Rules, error) {
	rules := rulesOf(cfg)
	if rules == nil {
		return nil, nil
	}
	if _, ok := rules.Agents[rights.Others]; !ok {
		return nil, &usageError{errors.New("proxySettings.agents does not say what a client over stdin and stdout may use, because that client has no name"),
			`add the entry "*", as in "agents": {"*": {"allow": ["fs_*"]}}, or "*": {} for everything`}
	}
	return rules, nil
}

// rightsAs are the rules for a look at what one agent sees.
func rightsAs(cfg *config.Config, agent string) (*rights.Rules, error) {
	rules := rulesOf(cfg)
	if rules == nil || rules.Agents == nil {
		return nil, &usageError{errors.New("--agent: the configuration has no proxySettings.agents, so all agents see the same tools"), "leave --agent out"}
	}
	entry, ok := rules.Agents[agent]
	if !ok {
		if entry, ok = rules.Agents[rights.Others]; !ok {
			return nil, &usageError{fmt.Errorf("--agent: proxySettings.agents has neither %q nor \"*\", so it may use nothing", agent),
				"the agents are " + strings.Join(slices.Sorted(maps.Keys(rules.Agents)), ", ")}
		}
	}
	return &rights.Rules{Agents: map[string]rights.Entry{rights.Others: entry}}, nil
}

// tellUnnamed warns of agents of the rules that no token names, and of those of tokens that
// may use nothing. Which JWTs there are is not known before they come.
func tellUnnamed(log *slog.Logger, rules *rights.Rules, tokens []auth.Token, jwt bool) {
	if rules == nil {
		return
	}
	named := map[string]bool{}
	for _, t := range tokens {
		named[t.Agent] = true
	}
	for _, agent := range slices.Sorted(maps.Keys(rules.Agents)) {
		byJWT := strings.HasPrefix(agent, rights.JWTPrefix)
		switch {
		case agent == rights.Others, named[agent], byJWT && jwt:
		case jwt:
			log.Warn("no static token names an agent of proxySettings.agents", "agent", agent, "for_a_JWT_write", rights.JWTPrefix+agent)
		default:
			log.Warn("no token names an agent of proxySettings.agents", "agent", agent)
		}
	}
	_, others := rules.Agents[rights.Others]
	for _, agent := range slices.Sorted(maps.Keys(named)) {
		if _, ok := rules.Agents[agent]; !ok && !others {
			log.Warn(`an agent may use nothing: proxySettings.agents has neither its name nor "*"`, "agent", agent)
		}
	}
}
