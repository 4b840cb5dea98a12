package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"github.com/tailscale/hujson"

	"rlmproxy/private"
)

// Options says where [Load] looks. Nothing else of the process is consulted,
// except the working directory when Dir is empty.
type Options struct {
	// Path is the file of --config. Empty means to look for one, first where
	// RLMPROXY_CONFIG says, then ./mcp.json, then
	// UserConfigDir/rlmproxy/mcp.json.
	Path string
	// Environ is as os.Environ gives it. Nil is an empty environment.
	Environ []string
	// Flags has the flags of [RegisterFlags]; only changed ones count, and
	// others in the set are ignored. Nil means none.
	Flags *pflag.FlagSet
	// Dir is the folder that relative paths start from. Empty means the
	// working directory.
	Dir string
	// UserConfigDir is as os.UserConfigDir gives it. Empty means not to look
	// there.
	UserConfigDir string
	// Keyring gives the secrets of ${keyring:NAME}; stateDir is the setting. Nil, for who
	// starts no server: those and ${file:PATH} stay as written.
	Keyring func(stateDir, name string) (string, error)
}

// maxFileBytes is far above any file written by hand, and far below what
// would make a start slow.
const maxFileBytes = 4 << 20

// Load finds the file and lays the environment and flags over it.
//
// The error is an [ErrorList] when there is something to repair, wraps
// [ErrNoConfig] when there is no file, and else is that of reading the file.
// With ErrNoConfig the Config is not nil: it holds the settings of the other
// layers, and no servers.
func Load(opts Options) (*Config, error) {
	c, err := Inspect(opts)
	if errors.As(err, new(ErrorList)) {
		return nil, err
	}
	return c, err
}

// Inspect is Load for who looks at a configuration and serves nobody: with an [ErrorList]
// that is not about the whole file, the Config is not nil. It lacks the servers and the
// settings that have mistakes.
func Inspect(opts Options) (*Config, error) {
	shown, path, err := find(opts)
	if errors.Is(err, ErrNoConfig) {
		c, mistakes := assemble("", nil, nil, &reader{}, opts)
		if mistakes != nil {
			return c, mistakes
		}
		return c, err
	}
	if err != nil {
		return nil, err
	}
	data, err := read(shown, path)
	if errors.Is(err, fs.ErrNotExist) {
		by := "--config"
		if opts.Path == "" {
			by = envConfig
		}
		return nil, fmt.Errorf("%w; %s names %s", err, by, path)
	}
	if err != nil {
		return nil, err
	}
	return load(shown, path, data, opts)
}

// find names the file: as the operator knows it, and as an absolute path.
func find(opts Options) (shown, path string, err error) {
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return "", "", fmt.Errorf("working directory: %w", err)
	}
	for _, named := range []string{opts.Path, newVariables(opts.Environ, "").environ[envConfig]} {
		if named != "" {
			return named, absolute(named, dir), nil
		}
	}
	places := []string{"mcp.json"}
	if opts.UserConfigDir != "" {
		places = append(places, filepath.Join(opts.UserConfigDir, "rlmproxy", "mcp.json"))
	}
	for _, place := range places {
		// What exists but cannot be read is for read to report.
		if _, err := os.Stat(absolute(place, dir)); !errors.Is(err, fs.ErrNotExist) {
			return place, absolute(place, dir), nil
		}
	}
	var looked []string
	for _, place := range places {
		looked = append(looked, "\n  "+absolute(place, dir))
	}
	return "", "", fmt.Errorf("%w; --config and %s are not set, and these do not exist:%s", ErrNoConfig, envConfig, strings.Join(looked, ""))
}

// read returns the content of a file of at most 4 MiB.
func read(shown, path string) ([]byte, error) {
	data, err := private.Read(path, maxFileBytes)
	if err == nil {
		return data, nil
	}
	m := Mistake{Path: shown, Text: cause(err).Error()}
	switch {
	case errors.Is(err, private.ErrFolder):
		m.Hint = "name a file in it, such as " + filepath.Join(shown, "mcp.json")
	case errors.Is(err, private.ErrDevice):
		m.Hint = "write its content to a file, and name that"
	case !errors.Is(err, private.ErrLarger):
		return nil, fmt.Errorf("%s: %w", shown, cause(err))
	}
	return nil, ErrorList{m}
}

// cause drops the path that os adds: the error begins with it already.
func cause(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// load is Load from the content of the file at path.
func load(shown, path string, data []byte, opts Options) (*Config, error) {
	doc, tree, err := parse(shown, data)
	if err != nil {
		return nil, err
	}
	r := &reader{doc: doc}
	servers, file := r.sections(node{value: tree}, newVariables(opts.Environ, filepath.Dir(path)), opts)
	return assemble(path, servers, file, r, opts)
}

// Parse is Load from data, the content of a file at path, without the environment, flags and
// secrets that it refers to.
func Parse(path string, data []byte) (*Config, error) { return load(path, path, data, Options{}) }

// LoadData is [Load] from data, what the file at path may come to have.
func LoadData(path string, data []byte, opts Options) (*Config, error) {
	c, err := load(path, path, data, opts)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// ParseJSON is the tree of data: JSON with comments, of at most 4 MiB, not nested too deeply.
// The error names the place, and shows nothing of what stands there.
func ParseJSON(path string, data []byte) (hujson.Value, error) {
	if len(data) > maxFileBytes {
		return hujson.Value{}, fmt.Errorf("%s: larger than %d MiB", path, maxFileBytes>>20)
	}
	_, tree, err := parse(path, data)
	if list, ok := errors.AsType[ErrorList](err); ok {
		list[0].Excerpt = ""
	}
	return tree, err
}

// Find names the file that [Load] would read: as the operator knows it, and as an absolute
// path. The error wraps [ErrNoConfig] when there is none.
func Find(opts Options) (shown, path string, err error) { return find(opts) }

// Single is the configuration of one server that the command line gives. No
// file is read: the settings are those of the environment and the flags. The
// error is an [ErrorList].
func Single(s Server, opts Options) (*Config, error) {
	c, err := assemble("", []Server{s}, nil, &reader{}, opts)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// assemble lays the environment and flags over the settings of the file.
func assemble(path string, servers []Server, file map[string]any, r *reader, opts Options) (*Config, error) {
	proxy, warnings, mistakes := layered(file, opts)
	mistakes = append(mistakes, r.checkAlone(&proxy)...)
	if !proxy.PinTools && proxy.Quarantine {
		mistakes = append(mistakes, Mistake{Key: "quarantine", Text: "it needs pinTools", Hint: noQuarantine})
	} else if !proxy.PinTools {
		for _, s := range servers {
			if s.Quarantine != nil && *s.Quarantine && s.PinTools == nil {
				mistakes = append(mistakes, Mistake{Key: "mcpServers." + s.Name + ".quarantine", Text: "it needs pinTools", Hint: noQuarantine})
			}
		}
	}
	for i := range servers {
		servers[i].addNamed(opts.Environ)
		servers[i].Timeout = cmp.Or(servers[i].Timeout, proxy.CallTimeout)
	}
	c := &Config{Path: path, Servers: servers, Proxy: proxy, Agents: r.rights["agents"], Scopes: r.rights["scopes"], SubModel: r.subModel, Warnings: append(r.warnings, warnings...)}
	if all := append(r.mistakes.sorted(), mistakes...); len(all) > 0 {
		return c, all
	}
	return c, nil
}

// sections reads the whole file: the servers, and the settings as a layer, which say
// where secrets are.
func (r *reader) sections(n node, vars variables, opts Options) (servers []Server, settings map[string]any) {
	ours := []string{"mcpServers", "proxySettings"}
	members, ok := r.object(n)
	found, hint := false, example
	var entries *node
	for _, m := range members {
		switch m.key {
		case "mcpServers":
			found, entries = true, &m
		case "proxySettings":
			settings = r.settings(m, vars)
		case "servers": // of VS Code
			hint = `rename "servers" to "mcpServers"`
		case "agents", "scopes":
			r.misplacedRights(m)
		default:
			if (isSetting(m.key) || m.key == subModelSection) && m.key != "logLevel" { // which hosts have, too
				r.mistake(m.atKey(), "it has no effect here", `write settings in "proxySettings"`)
				continue
			}
			near := nearest(m.key, ours)
			if near == "" {
				continue
			}
			r.mistake(m.atKey(), "unknown key", didYouMean(m.key, ours))
			found = found || near == "mcpServers"
		}
	}
	if ok && !found {
		r.mistake(n, "mcpServers is missing", hint)
	}
	if entries != nil {
		servers = r.servers(*entries, vars.withKeyring(settings, opts))
	}
	if r.subModelAt != nil {
		r.subModel = r.readSubModel(*r.subModelAt, vars.withKeyring(settings, opts))
	}
	return servers, settings
}
