package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"rlmproxy/cmd/rlmproxy/terminal"
	"rlmproxy/config"
	"rlmproxy/middleware/frame"
	"rlmproxy/pipeline/redact"
	"rlmproxy/pipeline/show"
)

// A level is how bad something is.
type level int

const (
	fine    level = iota
	warning       // agents work, but not with all, or not everywhere
	fault         // something does not work
)

func (l level) String() string               { return [...]string{"ok", "warning", "fault"}[l] }
func (l level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// colour is the escape sequence of l on a terminal.
func (l level) colour() string { return [...]string{"\x1b[32m", "\x1b[33m", "\x1b[31m"}[l] }

// A check is one thing that the doctor looks at, and what is wrong there.
type check struct {
	Check    string    `json:"check"`
	Level    level     `json:"level"` // the worst of Findings
	Text     string    `json:"text"`  // what was looked at
	Findings []finding `json:"findings"`
}

// A finding is something wrong, with what to do about it.
type finding struct {
	Level  level  `json:"level"`
	Server string `json:"server,omitempty"`
	Text   string `json:"text"`
	Cure   string `json:"cure"`
}

// A serverReport is how one server does.
type serverReport struct {
	Name     string `json:"name"`
	State    string `json:"state"`
	Protocol string `json:"protocol,omitempty"` // the revision
	Software string `json:"software,omitempty"` // what the server calls itself
	Tools    int    `json:"tools"`
	Tokens   int    `json:"tokens"`
}

// A report is all that the doctor says.
type report struct {
	Version string         `json:"version"`
	Config  string         `json:"config,omitempty"` // the file
	Level   level          `json:"level"`            // the worst of Checks
	Checks  []*check       `json:"checks"`
	Servers []serverReport `json:"servers"`

	unusable bool                // there is no configuration, or it has mistakes
	mask     func(string) string // nil: no secrets are known
}

// begin adds a check, to which [report.add] adds findings.
func (r *report) begin(name string) *check {
	r.Checks = append(r.Checks, &check{Check: name, Findings: []finding{}})
	return r.Checks[len(r.Checks)-1]
}

// maxFindings bounds those of one check: a server can have thousands of odd tools.
const maxFindings = 50

// add adds a finding to c. The text may quote a server.
func (r *report) add(c *check, l level, server, text, cure string) {
	c.Level, r.Level = max(c.Level, l), max(r.Level, l)
	switch n := len(c.Findings); {
	case n > maxFindings:
		return
	case n == maxFindings:
		server, text, cure = "", "there are more findings", "mend these, then run rlmproxy doctor again"
	}
	if r.mask != nil {
		text, cure = r.mask(text), r.mask(cure)
	}
	c.Findings = append(c.Findings, finding{l, plain(server), plain(redact.All(text)), plain(cure)})
}

// plain is text on one line, without what a terminal obeys.
func plain(text string) string { return terminal.Visible(frame.OneLine(text)) }

func (c *cli) doctorCommand() *cobra.Command {
	var asJSON, verbose bool
	cmd := &cobra.Command{
		Use:   "doctor [--json] [-- COMMAND [ARGUMENT...]]",
		Short: "Check the whole setup, and say how to mend what is wrong",
		Long: `Doctor reads the configuration, starts every server and lists its tools, and looks
at what agents would get. It prints a line for each check, and below it what is wrong
and how to mend it. It changes nothing.

It exits with 0 if there is no fault (there may be warnings), with 1 if there is
one, and with 2 if there is no configuration or it has mistakes.`,
		Example: "  rlmproxy doctor\n  rlmproxy doctor --json | jq '.checks[].findings[]'\n  rlmproxy doctor -- npx -y @modelcontextprotocol/server-filesystem .",
		RunE: func(cmd *cobra.Command, args []string) error {
			before, command := split(cmd, args)
			if err := noArgs(cmd, before); err != nil {
				return err
			}
			r, err := c.examine(cmd, command)
			if err != nil {
				return err
			}
			if asJSON {
				out := json.NewEncoder(c.stdout)
				out.SetEscapeHTML(false)
				out.SetIndent("", "  ")
				err = out.Encode(r)
			} else {
				err = r.print(c.stdout, verbose, terminal.Coloured(c.stdout))
			}
			switch {
			case err != nil:
				return err
			case r.unusable:
				return &exitError{exitUsage}
			case r.Level == fault:
				return &exitError{exitFailed}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print everything as JSON")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "list each server, even if nothing is wrong")
	c.settings(cmd, listShows...)
	return cmd
}

// An exitError ends the program with a code; what was wrong is printed already.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// print writes r for a person.
func (r *report) print(w io.Writer, verbose, colours bool) error {
	var b strings.Builder
	word := func(l level) string {
		if !colours {
			return fmt.Sprintf("%-8s", l)
		}
		return l.colour() + fmt.Sprintf("%-8s", l) + "\x1b[0m"
	}
	n := map[level]int{}
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "%s %-13s  %s\n", word(c.Level), c.Check, c.Text)
		for _, f := range c.Findings {
			n[f.Level]++
			of := ""
			if f.Server != "" {
				of = f.Server + ": "
			}
			fmt.Fprintf(&b, "  %s %s%s\n           → %s\n", word(f.Level), of, f.Text, f.Cure)
		}
		if verbose && c.Check == "servers" {
			table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
			for _, s := range r.Servers {
				fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s tokens\n", plain(s.Name), s.State, s.Protocol, s.Software, show.Plural(s.Tools, "tools"), show.Count(s.Tokens))
			}
			table.Flush()
		}
	}
	switch {
	case r.Level == fine:
		b.WriteString("nothing is wrong\n")
	default:
		fmt.Fprintf(&b, "%s, %s\n", show.Plural(n[fault], "faults"), show.Plural(n[warning], "warnings"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// inspect reads the configuration of the doctor. It is nil where nothing of it can be used.
func (c *cli) inspect(cmd *cobra.Command, command []string, r *report) (*config.Config, error) {
	look := r.begin("configuration")
	if command != nil {
		cfg, err := c.single(cmd, config.Server{Name: unnamed, Prefix: new(""), Isolation: "shared"}, command)
		look.Text = "from the command line"
		return cfg, err
	}
	opts, err := c.options(cmd, fromKeyring)
	if err != nil {
		return nil, err
	}
	cfg, err := config.Inspect(opts)
	r.unusable = err != nil
	look.Text = "not usable"
	if cfg != nil && cfg.Path != "" {
		r.Config = cfg.Path
		look.Text = cfg.Path + ", " + show.Plural(len(cfg.Servers), "servers")
		if err != nil {
			look.Text += " without a mistake"
		}
	}
	var mistakes config.ErrorList
	switch {
	case err == nil:
	case errors.As(err, &mistakes):
		for _, m := range mistakes {
			cure := cured(m)
			m.Hint, m.Excerpt = "", ""
			r.add(look, fault, "", m.Error(), cure)
		}
	case errors.Is(err, config.ErrNoConfig):
		r.add(look, fault, "", strings.ReplaceAll(err.Error(), "\n ", ""), noConfigHint)
		cfg = nil
	default:
		r.add(look, fault, "", err.Error(), "make it a file that you can read, or name another with --config")
	}
	if cfg != nil {
		for _, w := range cfg.Warnings {
			text, cure, ok := strings.Cut(w, "; ")
			if !ok {
				cure = "remove it, or correct it"
			}
			r.add(look, warning, "", text, cure)
		}
	}
	return cfg, nil
}

// cured is what helps against a mistake.
func cured(m config.Mistake) string {
	if m.Hint != "" {
		hint := strings.Join(strings.Fields(m.Hint), " ")
		return strings.TrimSuffix(strings.Replace(hint, "did you mean ", "if you mean it, write ", 1), "?")
	}
	where := "there"
	if m.Line > 0 {
		where = fmt.Sprintf("in line %d", m.Line)
	}
	if want, _, ok := strings.Cut(strings.TrimPrefix(m.Text, "expected "), ", found "); ok {
		return "write " + want + " " + where
	}
	return "correct it " + where
}
