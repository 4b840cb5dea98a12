package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"rlmproxy/config"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream/process"
)

func (c *cli) serveCommand() *cobra.Command {
	var http string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the servers of mcp.json over stdin and stdout, or HTTP",
		Example: `  rlmproxy serve
  rlmproxy serve --http 127.0.0.1:8080
  rlmproxy serve --http unix:$XDG_RUNTIME_DIR/rlmproxy   # curl --unix-socket $XDG_RUNTIME_DIR/rlmproxy http://localhost/mcp
  RLMPROXY_HTTP_TOKENS=alice:$TOKEN rlmproxy serve --http 0.0.0.0:8080`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.load(cmd)
			if err != nil {
				return err
			}
			return c.serveConfig(cmd, cfg, http, c.again(cmd, cfg))
		},
	}
	httpFlag(cmd, &http)
	c.settings(cmd, serveShows...)
	return cmd
}

func httpFlag(cmd *cobra.Command, addr *string) {
	cmd.Flags().StringVar(addr, "http", "", "serve /mcp over HTTP at `address`: host:port, a port of 127.0.0.1, or unix:/path of a socket")
}

func urlFlags(cmd *cobra.Command, w *wrapFlags) {
	cmd.Flags().StringVar(&w.url, "url", "", "connect to the server at `URL` instead of starting one")
	cmd.Flags().StringArrayVar(&w.headers, "header", nil, "send this header to the server at URL: `'Name: value'`, in which ${VAR}, ${file:PATH} and ${keyring:NAME} are replaced; may be repeated")
}

func (c *cli) serve(cmd *cobra.Command) error {
	cfg, err := c.load(cmd)
	if err != nil {
		return err
	}
	return c.serveConfig(cmd, cfg, "", c.again(cmd, cfg))
}

// again reads the file of cfg again: that one, whatever else there is by then where one is
// looked for.
func (c *cli) again(cmd *cobra.Command, cfg *config.Config) func() (*config.Config, error) {
	return func() (*config.Config, error) {
		c.configPath = cfg.Path
		return c.load(cmd)
	}
}

// serveConfig serves until the client closes stdin or a signal comes; both are
// good ends. If the command has the flag --http, addr is its value. load, if not nil, reads
// the file again.
func (c *cli) serveConfig(cmd *cobra.Command, cfg *config.Config, addr string, load func() (*config.Config, error)) error {
	ctx := cmd.Context()
	if cmd.Flags().Changed("http") {
		return c.serveHTTP(ctx, cfg, addr, load)
	}
	rules, err := pipeRights(cfg)
	if err != nil {
		return err
	}
	limitMemory(cfg.Proxy, oneClient)
	logger := c.logger(cfg)
	s, err := start(cfg, logger, nil, oneClient, rules)
	if err != nil {
		return err
	}
	defer s.close()
	s.record("")
	t := c.takeover(cfg, load, logger)
	t.rights, t.rules, t.stack = pipeRights, rules, s
	if err := c.manage(cmd, t); err != nil {
		return err
	}
	defer c.rereading(ctx, t)()
	rpc.Widen(c.stdout)
	err = s.server.Serve(ctx, closer(c.stdin), nopCloser{c.stdout})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// closer makes r closable, so that a signal ends a read from stdin.
func closer(r io.Reader) io.ReadCloser {
	if f, ok := r.(*os.File); ok {
		return f
	}
	return io.NopCloser(r)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// Gone reports whether the client reads no more, if that is known.
func (w nopCloser) Gone() (gone, known bool) { return rpc.Gone(w.Writer) }

func (c *cli) wrapCommand() *cobra.Command {
	var http string
	var w wrapFlags
	cmd := &cobra.Command{
		Use:   "wrap [flags] {-- COMMAND [ARGUMENT...] | --url URL}",
		Short: "Serve one server, without a file",
		Long: `Wrap starts COMMAND, or connects to the server at URL, and serves its tools over
stdin and stdout, or HTTP, under their own names unless --prefix is given.`,
		Example: `  rlmproxy wrap -- npx -y @modelcontextprotocol/server-filesystem .
  rlmproxy wrap --http 8080 -- npx -y @modelcontextprotocol/server-filesystem .
  rlmproxy wrap --http 8080 --isolation agent -- npx -y @playwright/mcp --headless --isolated
  rlmproxy wrap --url https://mcp.example.com/mcp --header 'Authorization: Bearer ${TOKEN}'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); at > 0 {
				return &usageError{fmt.Errorf("%q comes before --", args[0]), "put the server's command after --"}
			}
			if len(args) > 0 {
				process.Prepare()
			}
			cfg, err := c.wrapped(cmd, w, args)
			if err != nil {
				return err
			}
			return c.serveConfig(cmd, cfg, http, nil)
		},
	}
	cmd.Flags().StringVar(&w.name, "name", "", "the server's `name` in logs and errors; without it, the name of its package, program or host")
	cmd.Flags().StringVar(&w.prefix, "prefix", "", "offer tools as `prefix`_tool")
	urlFlags(cmd, &w)
	cmd.Flags().StringVar(&w.isolation, "isolation", "shared", "give each agent over HTTP its own process or session, or let all share one: `agent|shared`")
	httpFlag(cmd, &http)
	settings(cmd, serveShows...)
	return cmd
}

// wrapFlags are what the flags of wrap say of the server.
type wrapFlags struct {
	name, prefix, url, isolation string
	headers                      []string
}

// single is the configuration of one server that the command line gives. The proxy stands
// in the place of its command, so all of the environment is meant for it.
func (c *cli) single(cmd *cobra.Command, server config.Server, args []string) (*config.Config, error) {
	if len(args) == 0 {
		return nil, &usageError{errors.New("no command to wrap"), "rlmproxy wrap -- npx -y @modelcontextprotocol/server-filesystem ."}
	}
	server.Command, server.Args, server.InheritEnv = args[0], args[1:], []string{"*"}
	return configured(cmd, server)
}

// wrapped is that of wrap: the server is a command or a URL.
func (c *cli) wrapped(cmd *cobra.Command, w wrapFlags, args []string) (*config.Config, error) {
	if w.isolation != "shared" && w.isolation != "agent" {
		return nil, &usageError{fmt.Errorf("--isolation is %q; it must be agent or shared", w.isolation), "rlmproxy wrap --http 8080 --isolation agent -- COMMAND"}
	}
	server := config.Server{Name: w.name, Prefix: &w.prefix, Isolation: w.isolation}
	if !cmd.Flags().Changed("url") {
		if len(w.headers) > 0 {
			return nil, &usageError{errors.New("--header without --url"), "only a server at a URL gets headers; a COMMAND gets variables of the environment"}
		}
		return c.single(cmd, server, args)
	}
	u, err := url.Parse(w.url)
	switch {
	case len(args) > 0:
		return nil, &usageError{errors.New("--url and a command"), "wrap takes one server: leave out one of them"}
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || !config.IsPort(u.Port()):
		return nil, &usageError{fmt.Errorf("--url %q is not the URL of a server", w.url), "rlmproxy wrap --url https://mcp.example.com/mcp"}
	}
	server.URL = w.url
	if err := server.SetHeaders(w.headers, config.Options{Environ: os.Environ(), Flags: cmd.Flags(), Keyring: fromKeyring}); err != nil {
		return nil, &usageError{fmt.Errorf("--header: %w", err), `write it as in --header 'Authorization: Bearer ${TOKEN}'`}
	}
	return configured(cmd, server)
}

func configured(cmd *cobra.Command, server config.Server) (*config.Config, error) {
	server.Name = cmp.Or(server.Name, nameOf(server))
	cfg, err := config.Single(server, config.Options{Environ: os.Environ(), Flags: cmd.Flags()})
	if err != nil {
		return nil, &usageError{err: err}
	}
	return cfg, nil
}
