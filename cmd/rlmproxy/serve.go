package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"rlmproxy/config"
	"rlmproxy/middleware/wire"
)

func (c *cli) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the servers of mcp.json over stdin and stdout",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.serve(cmd) },
	}
	c.settings(cmd)
	return cmd
}

func (c *cli) serve(cmd *cobra.Command) error {
	cfg, err := c.load(cmd)
	if err != nil {
		return err
	}
	return c.serveConfig(cmd.Context(), cfg)
}

// serveConfig serves until the client closes stdin or a signal comes; both are
// good ends.
func (c *cli) serveConfig(ctx context.Context, cfg *config.Config) error {
	limitMemory(cfg.Proxy)
	s, err := start(cfg, c.logger(cfg.Proxy.LogLevel), nil, true)
	if err != nil {
		return err
	}
	defer s.close()
	wire.Widen(c.stdout)
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

func (c *cli) wrapCommand() *cobra.Command {
	var name, prefix string
	cmd := &cobra.Command{
		Use:   "wrap [flags] -- COMMAND [ARGUMENT...]",
		Short: "Serve one server, without a file",
		Long: `Wrap starts COMMAND and serves its tools over stdin and stdout, under their own
names unless --prefix is given.`,
		Example: "  rlmproxy wrap -- npx -y @modelcontextprotocol/server-filesystem .",
		RunE: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); at > 0 {
				return &usageError{fmt.Errorf("%q stands before --", args[0]), "put the server's command after --"}
			}
			cfg, err := c.single(cmd, name, prefix, args)
			if err != nil {
				return err
			}
			return c.serveConfig(cmd.Context(), cfg)
		},
	}
	cmd.Flags().StringVar(&name, "name", "server", "the server's `name` in logs and errors")
	cmd.Flags().StringVar(&prefix, "prefix", "", "expose tools as `prefix`_tool")
	config.RegisterFlags(cmd.Flags())
	return cmd
}

// single is the configuration of one server that the command line gives.
func (c *cli) single(cmd *cobra.Command, name, prefix string, args []string) (*config.Config, error) {
	if len(args) == 0 {
		return nil, &usageError{errors.New("no command to wrap"), "rlmproxy wrap -- npx -y @modelcontextprotocol/server-filesystem ."}
	}
	cfg, err := config.Single(config.Server{Name: name, Prefix: &prefix, Command: args[0], Args: args[1:]},
		config.Options{Environ: os.Environ(), Flags: cmd.Flags()})
	if err != nil {
		return nil, &usageError{err: err}
	}
	return cfg, nil
}
