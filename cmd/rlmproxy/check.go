package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"rlmproxy/cmd/rlmproxy/terminal"
	"rlmproxy/config"
	"rlmproxy/pipeline/show"
)

func (c *cli) configCommand() *cobra.Command {
	cmd := family(&cobra.Command{
		Use:     "config",
		Short:   "Check mcp.json, or print what an editor needs to check it",
		Example: "  rlmproxy config check\n  rlmproxy config schema > mcp.schema.json   # then in mcp.json: \"$schema\": \"./mcp.schema.json\"",
	})
	check := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Say what is wrong in mcp.json, without starting anything",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return &usageError{errors.New("more than one file"), cmd.CommandPath() + " mcp.json"}
			}
			if len(args) > 0 {
				c.configPath = args[0]
			}
			return c.check(cmd)
		},
	}
	c.stateFlags(check)
	schema := &cobra.Command{
		Use:   "schema",
		Short: "Print a JSON Schema (2020-12) of mcp.json, for editors",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := c.stdout.Write(config.Schema())
			return err
		},
	}
	cmd.AddCommand(check, schema)
	return cmd
}

// check reads the configuration as a start does.
func (c *cli) check(cmd *cobra.Command) error {
	cfg, err := c.load(cmd)
	if err != nil {
		return err
	}
	disabled := 0
	for _, sc := range cfg.Servers {
		if sc.Disabled {
			disabled++
			continue
		}
		m := served(effective(cfg.Proxy, sc))
		if err := m.Check(); err != nil {
			return &usageError{err: err}
		}
	}
	for _, w := range cfg.Warnings {
		fmt.Fprintln(c.stderr, "rlmproxy: warning:", terminal.Visible(w))
	}
	found := show.Plural(len(cfg.Servers), "servers")
	if disabled > 0 {
		found += fmt.Sprintf(", %d of them disabled", disabled)
	}
	_, err = fmt.Fprintf(c.stdout, "%s: no mistakes, %s\n", terminal.Visible(cfg.Path), found)
	return err
}
