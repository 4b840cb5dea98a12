package config

import (
	"fmt"
	"maps"
	"strings"
	"time"

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
	members, _ := r.object(n)
	known := map[string]Setting{}
	for _, s := range Settings() {
		known[s.Name] = s
	}
	layer := map[string]any{}
	for _, m := range members {
		s, ok := known[m.key]
		switch {
		case ok && s.EnvOnly():
			r.mistakeAt(m.offset, m.value.path, "secrets have no place in this file", "set "+s.Env()+", or name a file of tokens in httpTokensFile")
		case ok && s.Unit == unitList && m.value.value.Value.Kind() == '[':
			if value := r.listed(m.value, s); value != nil {
				layer[s.Name] = value
			}
		case ok && s.Unit == unitList && m.value.literal().Kind() != '"':
			r.wrong(m.value, "an array of strings")
		case ok && s.textual() && m.value.literal().Kind() != '"':
			r.wrong(m.value, "a string in quotes")
		case ok:
			m.value.secret = m.value.secret || s.private()
			if value := r.parsed(m.value, s.parse, s.quoted()); value != nil {
				layer[s.Name] = s.placed(value, vars)
			}
		case m.key == "comment" || m.key == "_comment" || m.key == "//":
		default:
			r.mistakeAt(m.offset, m.value.path, "unknown key", didYouMean(m.key, settingNames()))
		}
	}
	return layer
}

// layered is the Proxy of all layers. The mistakes are those of the
// environment and of flags.
func layered(file map[string]any, opts Options) (p Proxy, warnings []string, mistakes ErrorList) {
	k := koanf.New(delim)
	note := func(s Setting, key, text, want string) {
		found := preview(text)
		if s.private() {
			found = "something else"
		}
		mistakes = append(mistakes, Mistake{Key: key, Text: "expected " + want + ", found " + found})
	}
	vars := newVariables(opts.Environ, opts.Dir)

	byEnv := map[string]Setting{}
	byFlag := map[string]Setting{}
	defaults := map[string]any{}
	variables := []string{envConfig}
	for _, s := range Settings() {
		byEnv[s.Env()] = s
		if !s.EnvOnly() {
			byFlag[s.Flag()] = s
		}
		variables = append(variables, s.Env())
		if s.Default != "" {
			defaults[s.Name], _ = s.parse(s.Default)
		}
	}
	fromEnv := env.Provider(delim, env.Opt{
		Prefix:      envPrefix,
		EnvironFunc: func() []string { return opts.Environ },
		TransformFunc: func(name, text string) (string, any) {
			s, ok := byEnv[name]
			switch {
			case !ok && name != envConfig:
				m := Mistake{Key: shownKey(name), Text: "unknown variable, ignored", Hint: didYouMean(name, variables)}
				warnings = append(warnings, m.Error())
			case ok && text != "": // an empty variable is how shells unset one
				value, want := s.parse(text)
				if want == "" {
					return s.Name, s.placed(value, vars)
				}
				note(s, name, text, want)
			}
			return "", nil
		},
	})
	flags := opts.Flags
	if flags == nil {
		flags = pflag.NewFlagSet("", pflag.ContinueOnError)
	}
	fromFlags := posflag.ProviderWithFlag(flags, delim, nil, func(f *pflag.Flag) (string, any) {
		s, ok := byFlag[f.Name]
		if !ok || !f.Changed {
			return "", nil
		}
		value, want := s.parse(f.Value.String())
		if want != "" {
			note(s, "--"+f.Name, f.Value.String(), want)
			return "", nil
		}
		return s.Name, s.placed(value, vars)
	})
	for _, layer := range []koanf.Provider{confmap.Provider(defaults, delim), confmap.Provider(file, delim), fromEnv, fromFlags} {
		if err := k.Load(layer, nil, koanf.WithMergeFunc(mergeLayer)); err != nil {
			panic(fmt.Sprintf("config: a flat layer did not merge: %v", err))
		}
	}
	if err := k.Unmarshal("", &p); err != nil {
		panic(fmt.Sprintf("config: a typed layer did not fit: %v", err))
	}
	p.settle()
	return p, warnings, append(mistakes, p.checkHTTP()...)
}

// quoted reports whether a string in the file may hold the value of s. A
// count in quotes is a slip; an amount with a unit needs them.
func (s Setting) quoted() bool {
	return s.textual() || s.Unit == "bytes" || s.Unit == "seconds" || strings.Contains(s.Unit, "|") && s.Default != "true"
}

// mergeLayer lays src over dest. The two spellings of the response limit
// replace each other, or a default would hide a later layer's older spelling.
func mergeLayer(src, dest map[string]any) error {
	const tokens, characters = "maxResponseTokens", "maxResponseSize"
	if size, _ := src[characters].(int64); src[tokens] != nil || size == 0 {
		delete(src, characters)
	}
	if src[tokens] != nil {
		delete(dest, characters)
	} else if src[characters] != nil {
		delete(dest, tokens)
	}
	maps.Copy(dest, src)
	return nil
}

// settle replaces older spellings by what they mean.
func (p *Proxy) settle() {
	if !p.EnableAgentIsolation && p.CacheMaxEntries > 0 {
		p.MaxEntriesPerAgent = p.CacheMaxEntries
	}
}

// RegisterFlags adds a flag to fs for every setting but those of [Setting.EnvOnly].
// A value is checked as it is set.
func RegisterFlags(fs *pflag.FlagSet) {
	for _, s := range Settings() {
		if s.EnvOnly() {
			continue
		}
		f := fs.VarPF(&flagValue{setting: s, text: s.Default}, s.Flag(), "", s.Usage)
		if s.Unit == "true|false" {
			f.NoOptDefVal = "true"
		}
	}
}

var _ pflag.Value = (*flagValue)(nil)

// A flagValue is the text of a flag.
type flagValue struct {
	setting Setting
	text    string
}

func (v *flagValue) String() string { return v.text }

// Type is what help shows for the value.
func (v *flagValue) Type() string { return v.setting.Unit }

func (v *flagValue) Set(text string) error {
	if _, want := v.setting.parse(text); want != "" {
		return fmt.Errorf("expected %s", want)
	}
	v.text = text
	return nil
}

// fill gives every server the call timeout that its entry does not set.
func fill(servers []Server, timeout time.Duration) {
	for i := range servers {
		if servers[i].Timeout == 0 {
			servers[i].Timeout = timeout
		}
	}
}
