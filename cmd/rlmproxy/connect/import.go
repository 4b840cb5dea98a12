package connect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"rlmproxy/cmd/rlmproxy/terminal"
	"rlmproxy/config"
	"rlmproxy/config/clients"
)

func (c *Commands) importCommand() *cobra.Command {
	var dry, project bool
	cmd := &cobra.Command{
		Use:   "import [CLIENT…]",
		Short: "Copy the servers that your MCP clients have into mcp.json",
		Long: `Import reads the servers of these clients: ` + strings.Join(clients.Names(), ", ") + `.
It reads your own files of the clients that you name, or of all of them, and with --project
also those of the project in the working directory, which may be a stranger's. It writes the
servers into the file of --config, the file that serve would find, or a new file in your
configuration folder. The clients' files stay as they are; connect changes them.

Secrets stay references: ${env:X} is written ${X}. A server that is in the file already
stays as it is there.`,
		Example: "  rlmproxy import --dry-run\n  rlmproxy import cursor vscode --config mcp.json",
		RunE: func(_ *cobra.Command, args []string) error {
			return c.importClients(args, dry, project)
		},
	}
	c.clientFlags(cmd, &dry, "configuration `file` to write")
	cmd.Flags().BoolVar(&project, "project", false, "also read the files of the project in the working directory")
	return cmd
}

func (c *Commands) importClients(names []string, dry, project bool) error {
	sys, err := system()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names = clients.Names()
	} else {
		for _, name := range names {
			if _, err := client(name); err != nil {
				return err
			}
		}
	}
	var found []clients.Found
	var looked, others []string
	var broken []error
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	read := c.Progress(func() string { return "reading the files of clients" }) // home may be far away
	for _, name := range names {
		for _, p := range sys.Places(clients.Find(name), isFile) {
			looked = append(looked, "\n  "+p.Path)
			data, err := readOrNil(p.Path)
			var servers []clients.Server
			if err == nil && data != nil {
				servers, err = p.Read(data)
			}
			if err != nil {
				broken = append(broken, fmt.Errorf("%s: %w", name, err))
			}
			if len(servers) == 0 {
				continue
			}
			if p.Scope == "project" && !project {
				others = append(others, inHome(p.Path))
				continue
			}
			if len(found) == 0 {
				fmt.Fprintln(w, "CLIENT\tSERVERS\tFILE")
			}
			var list []string
			for _, s := range servers {
				list = append(list, terminal.OneLine(s.Name))
				found = append(found, clients.Found{Server: s, Place: p})
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", name, strings.Join(list, ", "), inHome(p.Path)+scope(p))
		}
	}
	read()
	_ = w.Flush()
	for _, path := range others {
		fmt.Fprintf(c.Stdout, "%s has servers too: look at it, then rlmproxy import --project\n", path)
	}
	if len(found) == 0 {
		if broken != nil {
			return errors.Join(broken...)
		}
		return fmt.Errorf("no servers found; looked in:%s", strings.Join(slices.Compact(looked), ""))
	}
	path, err := c.importTarget(sys)
	if err != nil {
		return err
	}
	old, err := readOrNil(path)
	if err != nil {
		return err
	}
	merged := clients.Merge(found)
	data, err := clients.Add(path, old, merged)
	if err != nil {
		return &mistake{err: err}
	}
	fmt.Fprintln(c.Stdout)
	c.told(found, inHome(path))
	n := map[clients.Outcome]int{}
	counted := map[string]bool{}
	for _, f := range merged {
		if !counted[f.As] {
			counted[f.As] = true
			n[f.Outcome]++
		}
	}
	switch {
	case dry:
		c.printDiff(path, old, data)
	case n[clients.Added] > 0:
		if err := writeConfig(path, old, data); err != nil {
			return err
		}
	}
	line := "%s: %d added, %d there already\n"
	if dry {
		line = "%s: %d would be added, %d are there already\n"
	}
	fmt.Fprintf(c.Stdout, line, inHome(path), n[clients.Added], n[clients.Present]+n[clients.Differs])
	c.secretsFirst(found)
	return errors.Join(broken...)
}

// scope is what to add to a file's name, if it has servers of several.
func scope(p clients.Place) string {
	if p.Scope == "local" {
		return " (this project)"
	}
	return ""
}

// importTarget is the file that import writes, as an absolute path.
func (c *Commands) importTarget(sys clients.System) (string, error) {
	user, userErr := os.UserConfigDir()
	_, path, err := config.Find(config.Options{Path: c.config, Environ: os.Environ(), Dir: sys.Dir, UserConfigDir: user})
	if !errors.Is(err, config.ErrNoConfig) {
		return path, err
	}
	return filepath.Join(user, "rlmproxy", "mcp.json"), userErr
}
