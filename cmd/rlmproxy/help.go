package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rlmproxy/config"
)

// Every command that starts servers takes every setting as a flag, for a command line is
// tried with one command and used with another. Its help shows those that people change.
var (
	listShows  = []string{"trustHints", "pinTools", "quarantine", "keepLists", "stateDir", "logLevel"}
	callShows  = []string{"maxResponseTokens", "maxPreviewTokens", "enableAutoTruncation", "enableLossless", "redact", "freshCalls", "stateDir", "cacheDir", "callTimeout", "logLevel"}
	serveShows = []string{
		"maxResponseTokens", "maxResponseTokensByKind", "enableAutoTruncation", "cacheTTLSeconds", "redact", "freshCalls", "pinTools", "quarantine",
		"stateDir", "cacheDir", "cacheURL", "callTimeout", "logLevel", "auditFile", "metricsAddress", "httpTokensFile", "httpPublicURL", "httpAllowedHosts", "httpAllowedOrigins", "drainSeconds",
	}
)

// ofGroup is the annotation of a flag of a setting: the title that help shows it under, "" for
// none.
const ofGroup = "rlmproxy_group"

// helpWidth is that of lines of help, in characters.
const helpWidth = 100

// settings adds the flags of the configuration to cmd, whose help shows these.
func (c *cli) settings(cmd *cobra.Command, shown ...string) {
	cmd.Flags().StringVarP(&c.configPath, "config", "c", "", "configuration `file`")
	settings(cmd, shown...)
}

// stateFlags adds those that say where a command about what is kept finds it, and more.
func (c *cli) stateFlags(cmd *cobra.Command, more ...string) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.RegisterFlags(all)
	cmd.Flags().StringVarP(&c.configPath, "config", "c", "", "configuration `file`")
	for _, name := range append([]string{"state-dir"}, more...) {
		cmd.Flags().AddFlag(all.Lookup(name))
	}
}

func settings(cmd *cobra.Command, shown ...string) {
	config.RegisterFlags(cmd.Flags())
	for _, s := range config.Settings() {
		if f := cmd.Flags().Lookup(s.Flag()); f != nil {
			title := ""
			if slices.Contains(shown, s.Name) {
				title = s.Group()
			}
			completeWords(cmd, s)
			f.Annotations = map[string][]string{ofGroup: {title}}
		}
	}
}

// groupFlags has the help of root and its commands show flags of settings by what they are
// about.
func groupFlags(root *cobra.Command) {
	cobra.AddTemplateFunc("flagGroups", flagGroups)
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}", "{{flagGroups .}}", 1))
}

// flagGroups is the part of help that shows the flags of cmd.
func flagGroups(cmd *cobra.Command) string {
	const own = "Flags"
	sets := map[string]*pflag.FlagSet{}
	add := func(title string, f *pflag.Flag) {
		if sets[title] == nil {
			sets[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
			sets[title].SortFlags = false
		}
		sets[title].AddFlag(f)
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[ofGroup] == nil {
			add(own, f)
		}
	})
	titles, more := []string{own}, false
	for _, s := range config.Settings() {
		f := cmd.LocalFlags().Lookup(s.Flag())
		if f == nil || f.Annotations[ofGroup] == nil {
			continue
		}
		more = true
		if title := f.Annotations[ofGroup][0]; title != "" {
			add(title, f)
			titles = append(titles, title)
		}
	}
	var b strings.Builder
	for _, title := range slices.Compact(titles) {
		if sets[title] != nil {
			fmt.Fprintf(&b, "%s:\n%s\n", title, sets[title].FlagUsagesWrapped(helpWidth))
		}
	}
	if more {
		b.WriteString("Other settings: rlmproxy help settings\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// settingsTopic is help about all settings.
func settingsTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString(`Settings are keys of proxySettings in mcp.json, environment variables, and flags of serve,
wrap, tools and call. A flag wins over a variable, which wins over the file. The variable of
--max-response-tokens is RLMPROXY_MAX_RESPONSE_TOKENS. Sizes may be written 100MiB, times 90s
or 2m; a bare number is in the unit given.
`)
	b.WriteString(`Three sections of proxySettings have no flag: subModel is the model of proxy_ask, agents and
scopes say what clients may use.
`)
	group := ""
	for _, s := range config.Settings() {
		if title := s.Group(); title != group {
			group = title
			fmt.Fprintf(&b, "\n%s:\n", title)
		}
		how := "--" + s.Flag()
		if s.EnvOnly() {
			how = s.Env() + " only"
		}
		fmt.Fprintf(&b, "  %s, %s", s.Name, how)
		if s.Unit != "true|false" {
			fmt.Fprintf(&b, ", %s", s.Unit)
		}
		if s.Default != "" {
			fmt.Fprintf(&b, " (default %s)", s.Default)
		}
		fmt.Fprintf(&b, "\n      %s\n", s.Usage)
	}
	return &cobra.Command{Use: "settings", Short: "All settings: as keys of mcp.json, variables and flags", Long: strings.TrimRight(b.String(), "\n")}
}
