package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// manCommand prints the manual page: the help of every command, one below the other.
func (c *cli) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man",
		Short:   "Print the manual page",
		Example: "  rlmproxy man | man -l -\n  rlmproxy man > /usr/local/share/man/man1/rlmproxy.1",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root := cmd.Root()
			var b strings.Builder
			fmt.Fprintf(&b, ".TH RLMPROXY 1 \"\" \"rlmproxy %s\"\n.SH NAME\nrlmproxy \\- %s\n.SH DESCRIPTION\n%s", roff(version()), roff(root.Short), verbatim(root.Long))
			b.WriteString(".SH COMMANDS\n")
			manual(&b, root)
			b.WriteString(".SH EXIT STATUS\n" + verbatim(`0  done; for serve and wrap: the client closed stdin, or a signal came
1  the work failed; for call: a call was answered with an error
2  wrong arguments, or no usable configuration`))
			_, err := fmt.Fprint(c.stdout, b.String())
			return err
		},
	}
}

// manual writes the help of the commands below parent.
func manual(b *strings.Builder, parent *cobra.Command) {
	for _, cmd := range parent.Commands() {
		if cmd.Hidden || cmd.Name() == "help" || cmd.Name() == "completion" {
			continue
		}
		cmd.InitDefaultHelpFlag()
		text := cmp.Or(cmd.Long, cmd.Short+".")
		if cmd.Runnable() {
			text += "\n\n" + cmd.UsageString()
		}
		fmt.Fprintf(b, ".SS %s\n%s", roff(strings.TrimPrefix(cmd.CommandPath(), "rlmproxy ")), verbatim(text))
		manual(b, cmd)
	}
}

// verbatim is text that is set as it stands.
func verbatim(text string) string {
	return ".nf\n" + roff(strings.TrimSpace(text)) + "\n.fi\n"
}

// roff is text without what means something to roff.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
