package main

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rlmproxy/cmd/rlmproxy/terminal"
	"rlmproxy/config"
	"rlmproxy/middleware"
	"rlmproxy/middleware/tools"
	"rlmproxy/middleware/upstream"
)

// What a shell offers at a tab is read from files: no server is started, no secret looked up. Of
// what cannot be read nothing is offered.

// completing is a command line that a shell completes with names, where most arguments of them
// may stand (0: any number).
func (c *cli) completing(most int, names func(cmd *cobra.Command) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if slices.Contains(c.args, "--") { // cobra adds one of its own to what it has parsed
			return nil, cobra.ShellCompDirectiveDefault
		}
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list := names(cmd)
		slices.Sort(list)
		return slices.DeleteFunc(slices.Compact(list), func(name string) bool { // a line each, for a terminal
			return strings.ContainsAny(name, "\n\t") || terminal.Visible(name) != name
		}), cobra.ShellCompDirectiveNoFileComp
	}
}

// toolNames are those that servers offered when they were last seen, as agents know them, over
// a pipe or over HTTP.
func (c *cli) toolNames(cmd *cobra.Command) []string {
	cfg, err := c.readSettings(cmd)
	if u := cmd.Flag("url"); u != nil && u.Changed {
		cfg, err = c.wrapped(cmd, wrapFlags{url: u.Value.String(), isolation: "shared"}, nil)
	}
	if err != nil {
		return nil
	}
	var ups []middleware.Upstream
	for _, sc := range cfg.Servers {
		if sc.Disabled {
			continue
		}
		up := served(effective(cfg.Proxy, sc))
		for _, over := range []string{"pipe", "http"} {
			lists, err := listsOf(cfg, over, true, slog.New(slog.DiscardHandler))
			if err != nil {
				return nil
			}
			if kept, _ := lists.Last(listsKey(sc)); kept.Info != nil {
				up.Conn = upstream.New(upstream.Options{Name: sc.Name, Disabled: true, Kept: kept})
				ups = append(ups, up)
				break
			}
		}
	}
	return append(middleware.Names(ups), tools.Names...)
}

// remoteNames are the servers of the file that one may sign in to.
func (c *cli) remoteNames(cmd *cobra.Command) (names []string) {
	cfg, err := c.readSettings(cmd)
	if err != nil {
		return nil
	}
	for _, sc := range cfg.Servers {
		if sc.URL != "" && !sc.Disabled && !sc.HasAuthorization() {
			names = append(names, sc.Name)
		}
	}
	return names
}

// pinnedNames are the servers that have pins.
func (c *cli) pinnedNames(cmd *cobra.Command) (names []string) {
	store, done, err := c.pins(cmd, true)
	if err != nil {
		return nil
	}
	defer done()
	records, _ := store.Records() // those that can be read
	for _, r := range records {
		names = append(names, r.Server)
	}
	return names
}

// completeWords has shells complete the flag of a setting that is one of a few words.
func completeWords(cmd *cobra.Command, s config.Setting) {
	if words := strings.Split(s.Unit, "|"); len(words) > 1 {
		_ = cmd.RegisterFlagCompletionFunc(s.Flag(), cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	}
}
