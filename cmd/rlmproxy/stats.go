package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"rlmproxy/cmd/rlmproxy/figures"
	"rlmproxy/cmd/rlmproxy/terminal"
	"rlmproxy/config"
	"rlmproxy/middleware/stats"
)

func (c *cli) statsCommand() *cobra.Command {
	var asJSON, reset bool
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show what was saved, by server and tool",
		Long: `Stats shows what proxies of this user have saved: of all configurations, or of that of
--config. Each call of an agent counts; tools, call and demo do not. SAVED is what servers
answered less what agents read; follow-ups and the schemas of the proxy's own tools
are costs.`,
		Example: "  rlmproxy stats\n  rlmproxy stats --config mcp.json --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			which, err := c.counts(cmd)
			if err != nil {
				return err
			}
			read := stats.Read
			if reset {
				read = stats.Reset
			}
			r, err := read(which.Folder, which.Configuration)
			switch {
			case asJSON:
				return errors.Join(c.printReport(r), err)
			case reset && err == nil:
				fmt.Fprintln(c.stdout, figures.Removed(r, which, time.Now()))
			case !reset:
				figures.Print(c.stdout, r, which, time.Now())
			}
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	cmd.Flags().BoolVar(&reset, "reset", false, "remove what was counted, and begin anew")
	c.stateFlags(cmd)
	return cmd
}

// counts are those that the command's flags name.
func (c *cli) counts(cmd *cobra.Command) (of figures.Source, err error) {
	cfg, err := c.readSettings(cmd)
	one := cmd.Flags().Changed("config")
	if err != nil && (one || !errors.Is(err, config.ErrNoConfig)) {
		return of, &usageError{err: err}
	}
	if of.Folder, _, err = stateDir(cfg.Proxy); err != nil {
		return of, &usageError{fmt.Errorf("the state folder: %w", err), "name one in stateDir (RLMPROXY_STATE_DIR)"}
	}
	if one {
		of.Path = cfg.Path
		of.Configuration, err = configuration(cfg)
	}
	return of, err
}

func (c *cli) printReport(r *stats.Report) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		_, err = fmt.Fprintln(c.stdout, terminal.For(c.stdout, string(text)))
	}
	return err
}
