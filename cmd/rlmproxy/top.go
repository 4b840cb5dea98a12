package main

import (
	"errors"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"rlmproxy/cmd/rlmproxy/figures"
	"rlmproxy/cmd/rlmproxy/terminal"
)

func (c *cli) topCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch servers, calls and savings of the proxies that run",
		Long: `Top shows what rlmproxy stats shows, the states of servers and the last calls, and looks
each second. It reads files: it disturbs no proxy, and sees those that clients have started.

q ends it, the arrows or j and k scroll the tools, s sorts them by something else, ? helps.`,
		Example: "  rlmproxy top\n  rlmproxy top --config mcp.json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if why := figures.NoScreen(terminal.Is(c.stdin) && terminal.Is(c.stdout), os.Getenv("TERM"), runtime.GOOS); why != "" {
				return &usageError{errors.New(why), "rlmproxy stats prints the same once"}
			}
			which, err := c.counts(cmd)
			if err != nil {
				return err
			}
			return figures.Watch(cmd.Context(), c.stdin, c.stdout, which)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	c.stateFlags(cmd)
	return cmd
}
