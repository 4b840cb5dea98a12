package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rlmproxy/cmd/rlmproxy/terminal"
	"rlmproxy/config"
	"rlmproxy/middleware/stats"
	"rlmproxy/pipeline/show"
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
			r, err := read(which.folder, which.configuration)
			switch {
			case asJSON:
				return errors.Join(c.printReport(r), err)
			case reset && err == nil:
				fmt.Fprintln(c.stdout, removed(r, which, time.Now()))
			case !reset:
				c.printStats(r, which, time.Now())
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

// A counting is where to look for what was counted.
type counting struct {
	folder        string // the state folder
	configuration string // or "" for all
	path          string // of it
}

// counts are those that the command's flags name.
func (c *cli) counts(cmd *cobra.Command) (w counting, err error) {
	cfg, err := c.readSettings(cmd)
	one := cmd.Flags().Changed("config")
	if err != nil && (one || !errors.Is(err, config.ErrNoConfig)) {
		return w, &usageError{err: err}
	}
	if w.folder, _, err = stateDir(cfg.Proxy); err != nil {
		return w, &usageError{fmt.Errorf("the state folder: %w", err), "name one in stateDir (RLMPROXY_STATE_DIR)"}
	}
	if one {
		w.path = cfg.Path
		w.configuration, err = configuration(cfg)
	}
	return w, err
}

func (c *cli) printReport(r *stats.Report) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		_, err = fmt.Fprintln(c.stdout, terminal.For(c.stdout, string(text)))
	}
	return err
}

// of says of which configurations.
func (w counting) of() string {
	if w.configuration == "" {
		return "of any configuration"
	}
	return "of " + terminal.Visible(w.path)
}

func (c *cli) printStats(r *stats.Report, w counting, now time.Time) {
	if r.Since.IsZero() {
		fmt.Fprintln(c.stdout, "nothing is counted yet "+w.of()+", in "+terminal.Visible(w.folder))
		if n := len(r.Proxies); n == 1 {
			fmt.Fprintln(c.stdout, "1 proxy runs and waits for calls")
			return
		} else if n > 1 {
			fmt.Fprintln(c.stdout, show.Plural(n, "proxies")+" run and wait for calls")
			return
		}
		fmt.Fprintln(c.stdout, "serve and wrap count what agents call through them: rlmproxy connect CLIENT puts the proxy in front of a client's servers")
		return
	}
	lines := toolTable(ordered(r.Tools), r.Total.Schemas, 0)
	if days := chart(r.Hours, now); days != nil {
		lines = append(append(lines, "", "saved by day, in tokens"), days...)
	}
	lines = append(lines, "", summary(r, now))
	fmt.Fprintln(c.stdout, strings.Join(lines, "\n"))
}

// ordered are tools with the proxy's own behind the others.
func ordered(tools []stats.Tool) (list []stats.Tool) {
	var own []stats.Tool
	for _, t := range tools {
		if t.Server == "" {
			own = append(own, t)
		} else {
			list = append(list, t)
		}
	}
	return append(list, own...)
}

// removed says what a reset has removed.
func removed(r *stats.Report, w counting, now time.Time) string {
	if r.Since.IsZero() {
		return "nothing was counted " + w.of()
	}
	return fmt.Sprintf("removed what was counted %s: %s", w.of(), summary(r, now))
}
