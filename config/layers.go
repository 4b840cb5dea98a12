package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

const (
	envPrefix = "RLMPROXY_"
	// envConfig names the file, so it is no setting of the file's.
	envConfig = envPrefix + "CONFIG"
)

// delim separates nested keys for koanf. The keys here are flat.
const delim = "."

// settings reads proxySettings: the file's layer, already typed.
func (r *reader) settings(n node, vars variables) map[string]any {
	r.noNulls(n, rightsSections...)
	members, _ := r.object(n)
	known := map[string]Setting{}
	names := append(slices.Clone(rightsSections), subModelSection)
	for _, s := range Settings() {
		known[s.Name] = s
		names = append(names, s.Name)
	}
	layer := map[string]any{}
	r.settingAt = map[string]node{}
	for _, m := range members {
		s, ok := known[m.key]
		switch {
		case slices.Contains(rightsSections, m.key):
			r.rightsSection(m)
			r.settingAt[m.key] = m.atKey()
		case m.key == subModelSection:
			r.subModelAt = &m
		case m.key == "comment" || m.key == "_comment" || m.key == "//":
		case !ok:
			r.mistake(m.atKey(), "unknown key", didYouMean(m.key, names))
		case s.EnvOnly():
			instead := "set " + s.Env()
			if s.Name == "httpTokens" {
				instead += ", or name a file of tokens in httpTokensFile"
			}
			r.mistake(m.atKey(), "secrets are not allowed in this file", instead)
		default:
			if value := r.setting(m, s); value != nil {
				layer[s.Name] = s.placed(value, vars)
				r.settingAt[s.Name] = m.atKey()
			}
		}
	}
	return layer
}

// setting is the value of s that n gives, or nil with a mistake noted.
func (r *reader) setting(n node, s Setting) any {
	switch {
	case s.Unit == unitList && n.kind() == '[':
		list := []string{}
		for _, each := range n.elements() {
			if each.kind() != '"' {
				r.wrong(each, "a string in quotes", "")
				continue
			}
			values, _ := r.parsed(each, s.parse, true).([]string)
			list = append(list, values...)
		}
		return list
	case s.Unit == unitKinds && n.kind() == '{':
		tokens := map[string]any{}
		members, _ := r.object(n)
		for _, m := range members {
			one, want := s.parse(m.key + "=" + string(m.literal()))
			if want != "" {
				r.wrong(m, want, "")
				continue
			}
			maps.Copy(tokens, one.(map[string]any))
		}
		return tokens
	case s.Unit == unitList && n.kind() != '"':
		r.wrong(n, "an array of strings", "")
		return nil
	case s.textual() && n.kind() != '"':
		r.wrong(n, "a string in quotes", "")
		return nil
	}
	n.secret = n.secret || s.private()
	return r.parsed(n, s.parse, s.quoted())
}

// placed is value, and for a file its path from where paths start in vars.
func (s Setting) placed(value any, vars variables) any {
	if path, ok := value.(string); ok && s.Unit == unitFile && path != Stderr {
		return absolute(vars.inHome(path), vars.dir)
	}
	return value
}

// layered is the Proxy of all layers. The mistakes are those of the
// environment and of flags.
func layered(file map[string]any, opts Options) (p Proxy, warnings []string, mistakes ErrorList) {
	defaults := map[string]any{}
	byEnv, byFlag := map[string]Setting{}, map[string]Setting{}
	variables := []string{strings.TrimPrefix(envConfig, envPrefix)}
	for _, s := range Settings() {
		byEnv[s.Env()] = s
		variables = append(variables, strings.TrimPrefix(s.Env(), envPrefix))
		if !s.EnvOnly() {
			byFlag[s.Flag()] = s
		}
		if s.Default != "" {
			defaults[s.Name], _ = s.parse(s.Default)
		}
	}
	vars := newVariables(opts.Environ, opts.Dir)
	// read gives koanf the value of s from text, or no name and no value.
	read := func(s Setting, key, text string) (string, any) {
		value, want := s.parse(text)
		if want == "" {
			return s.Name, s.placed(value, vars)
		}
		found := preview(text)
		if s.private() {
			found = "something else"
		}
		mistakes = append(mistakes, Mistake{Key: key, Text: "expected " + want + ", found " + found})
		return "", nil
	}
	fromEnv := env.Provider(delim, env.Opt{
		Prefix:      envPrefix,
		EnvironFunc: func() []string { return opts.Environ },
		TransformFunc: func(name, text string) (string, any) {
			s, ok := byEnv[name]
			switch {
			case ok && text != "": // an empty variable is how shells unset one
				return read(s, name, text)
			case !ok && text != "" && name != envConfig:
				// Other programs, and tests, have variables of that beginning. One that is
				// nearly ours is a slip, and may be what was to ask for tokens.
				m := Mistake{Key: shownKey(name), Text: "unknown variable"}
				if near := nearest(strings.TrimPrefix(name, envPrefix), variables); near != "" {
					m.Hint = meant(envPrefix + near)
					mistakes = append(mistakes, m)
				} else {
					m.Text += ", ignored"
					warnings = append(warnings, m.Error())
				}
			}
			return "", nil
		},
	})
	flags := opts.Flags
	if flags == nil {
		flags = pflag.NewFlagSet("", pflag.ContinueOnError)
	}
	fromFlags := posflag.ProviderWithFlag(flags, delim, nil, func(f *pflag.Flag) (string, any) {
		if s, ok := byFlag[f.Name]; ok && f.Changed {
			return read(s, "--"+f.Name, f.Value.String())
		}
		return "", nil
	})
	k := koanf.New(delim)
	for _, layer := range []koanf.Provider{confmap.Provider(defaults, delim), confmap.Provider(file, delim), fromEnv, fromFlags} {
		if err := k.Load(layer, nil, koanf.WithMergeFunc(mergeLayer)); err != nil {
			panic(fmt.Sprintf("config: a flat layer did not merge: %v", err))
		}
	}
	if err := k.Unmarshal("", &p); err != nil {
		panic(fmt.Sprintf("config: a typed layer did not fit: %v", err))
	}
	if !p.EnableAgentIsolation && p.CacheMaxEntries > 0 {
		p.MaxEntriesPerAgent = p.CacheMaxEntries // the older spelling
	}
	return p, warnings, mistakes
}

// mergeLayer lays src over dest. The two spellings of the response limit
// replace each other, or a default would hide a later layer's older spelling. Limits by
// kind are added to those of earlier layers, which go where a layer sets the limit: who
// lowers it means all kinds.
func mergeLayer(src, dest map[string]any) error {
	const tokens, characters, kinds = "maxResponseTokens", "maxResponseSize", "maxResponseTokensByKind"
	if size, _ := src[characters].(int64); src[tokens] != nil || size == 0 {
		delete(src, characters)
	}
	if src[tokens] != nil {
		delete(dest, characters)
	} else if src[characters] != nil {
		delete(dest, tokens)
	}
	byKind := map[string]any{}
	if earlier, ok := dest[kinds].(map[string]any); ok && src[tokens] == nil && src[characters] == nil {
		maps.Copy(byKind, earlier)
	}
	if own, ok := src[kinds].(map[string]any); ok {
		maps.Copy(byKind, own)
	}
	maps.Copy(dest, src)
	delete(dest, kinds)
	if len(byKind) > 0 {
		dest[kinds] = byKind
	}
	return nil
}

// checkAlone notes settings that would have no effect without another: whoever sets one
// of them believes that tokens are asked for, or that calls are logged. Those of the file
// have their place.
func (r *reader) checkAlone(p *Proxy) (outside ErrorList) {
	const noToken, noLog = "set without httpJWTIssuer, so no token is verified", "set without auditFile, so nothing is logged"
	jwt, audit := p.HTTPJWTIssuer == "", p.AuditFile == ""
	for _, s := range []struct {
		name, text string
		alone      bool
	}{
		{"httpJWTAudience", noToken, jwt && p.HTTPJWTAudience != ""},
		{"httpJWTKeysURL", noToken, jwt && p.HTTPJWTKeysURL != ""},
		{"httpJWTAgentClaim", noToken, jwt && p.HTTPJWTAgentClaim != "sub"},
		{"auditContent", noLog, audit && p.AuditContent != "none"},
	} {
		const hint = "set both or none"
		switch n, inFile := r.settingAt[s.name]; {
		case s.alone && inFile:
			r.mistake(n, s.text, hint)
		case s.alone:
			outside = append(outside, Mistake{Key: s.name, Text: s.text, Hint: hint})
		}
	}
	if n, ok := r.settingAt["scopes"]; ok && jwt {
		r.mistake(n, "set without httpJWTIssuer: only its tokens have scopes", "set both, or write in agents who may use what")
	}
	return outside
}
