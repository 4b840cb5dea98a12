package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"rlmproxy/cmd/rlmproxy/terminal"
	"rlmproxy/config"
	"rlmproxy/config/catalogue"
	"rlmproxy/config/clients"
	"rlmproxy/middleware/pin"
)

// An adding is one use of rlmproxy add.
type adding struct {
	*cli
	file         string   // a catalogue of one's own
	as           string   // what the server is called
	set          []string // NAME=VALUE
	list, print_ bool
	force        bool
}

func (c *cli) addCommand() *cobra.Command {
	a := &adding{cli: c}
	cmd := &cobra.Command{
		Use:   "add NAME [ARGUMENT...]",
		Short: "Add a server that is known to mcp.json, with a policy",
		Long: `Add writes a server of the catalogue into mcp.json: how it is started or reached, limits,
which of its tools proxy_* may call, which are denied. Change what you like there. It says
what the server needs, and what is missing: a program, a variable, signing in.

The file is that of --config, the one that serve would find, or a new one in your
configuration folder. What stands in it stays as it is, comments too; a server of the same
name is replaced with --force only.`,
		Example: "  rlmproxy add --list\n  rlmproxy add filesystem ~/projects\n  rlmproxy add github --set 'GITHUB_TOKEN=${keyring:GITHUB_TOKEN}'\n  rlmproxy add dbhub --as shop --print",
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := a.catalogue()
			switch {
			case err != nil:
				return err
			case a.list:
				if err := noArgs(cmd, args); err != nil {
					return err
				}
				return a.printList(all)
			case len(args) == 0:
				return &usageError{errors.New("add takes the name of a server"), "rlmproxy add --list shows which there are"}
			}
			e := all[args[0]]
			if e == nil {
				hint := "rlmproxy add --list shows which there are; for others, write an entry into mcp.json"
				if near := config.Nearest(args[0], all.Names()); near != "" {
					hint = "did you mean " + near + "? " + hint
				}
				return &usageError{fmt.Errorf("the catalogue has no %q", args[0]), hint}
			}
			return a.add(cmd, e, args[1:])
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 { // folders and files
				return nil, cobra.ShellCompDirectiveDefault
			}
			return c.completing(1, func(*cobra.Command) []string {
				all, _ := a.catalogue() // nothing is offered of one with mistakes
				return all.Names()
			})(cmd, args, word)
		},
	}
	cmd.Flags().StringVarP(&c.configPath, "config", "c", "", "configuration `file` to write")
	cmd.Flags().StringVar(&a.file, "catalogue", "", "`file` with servers of your own, beside those that rlmproxy knows")
	cmd.Flags().StringVar(&a.as, "as", "", "call the server `NAME`; names of its tools begin with that")
	cmd.Flags().StringArrayVar(&a.set, "set", nil, "value of a variable or parameter of the entry, as `NAME=VALUE`; may be repeated")
	cmd.Flags().BoolVar(&a.list, "list", false, "list the servers of the catalogue")
	cmd.Flags().BoolVar(&a.print_, "print", false, "only print the entry")
	cmd.Flags().BoolVar(&a.force, "force", false, "replace a server of the same name")
	return cmd
}

// catalogue is that of the program, with the file of --catalogue over it.
func (a *adding) catalogue() (catalogue.Catalogue, error) {
	all, err := catalogue.Embedded()
	if err != nil || a.file == "" {
		return all, err
	}
	data, err := clients.ReadFile(a.file)
	if err != nil {
		return nil, &usageError{err, "--catalogue names a file"}
	}
	own, err := catalogue.Parse(a.file, data)
	if err != nil {
		return nil, &usageError{err, "docs/add.md has the form"}
	}
	return all.Over(own), nil
}

func (a *adding) printList(all catalogue.Catalogue) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SERVER\tNEEDS\tWHAT IT IS")
	for _, name := range all.Names() {
		e := all[name]
		fmt.Fprintf(w, "%s\t%s\t%s\n", terminal.OneLine(e.Usage()), terminal.OneLine(needs(e)), terminal.OneLine(e.Description))
	}
	return w.Flush()
}

// needs is what must be there for an entry, in a few words.
func needs(e *catalogue.Entry) string {
	var list []string
	if program := startsWith(e.Server); program != "" {
		list = append(list, program)
	}
	list = append(list, catalogue.Missing(e.Server, func(string) bool { return false })...)
	if e.SignIn {
		list = append(list, "signing in")
	}
	return strings.Join(list, ", ")
}

// startsWith is the program that a server is started with, or "".
func startsWith(server json.RawMessage) string {
	var s struct{ Command string }
	_ = json.Unmarshal(server, &s) // it was checked
	return s.Command
}

// add writes an entry, and says what is left to do.
func (a *adding) add(cmd *cobra.Command, e *catalogue.Entry, args []string) error {
	name := e.Name
	if cmd.Flags().Changed("as") {
		name = a.as
	}
	values, plain, err := a.values(e, args)
	if err != nil {
		return &usageError{err, "rlmproxy add " + e.Usage()}
	}
	server, err := e.Fill(values)
	if err != nil {
		return &usageError{err, "rlmproxy add " + e.Usage()}
	}
	shown := server
	if len(plain) > 0 { // which may be secrets
		for _, variable := range plain {
			delete(values, variable)
		}
		if shown, err = e.Fill(values); err != nil {
			return err
		}
	}
	if a.print_ {
		return a.printEntry(name, shown)
	}
	opts, err := a.options(cmd, nil)
	if err != nil {
		return err
	}
	shownPath, path, err := addTarget(opts)
	if err != nil {
		return err
	}
	old, err := clients.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	data, err := catalogue.Put(shownPath, old, name, server, a.force)
	switch {
	case errors.Is(err, catalogue.ErrSame):
		_, err = fmt.Fprintf(a.stdout, "%s has %q already, with this entry\n", terminal.OneLine(shownPath), name)
		return err
	case errors.Is(err, catalogue.ErrOther):
		return &usageError{fmt.Errorf("%s: %q: %w", shownPath, name, err), "--as NAME gives the new one another name, --force replaces the other"}
	case err != nil:
		return &usageError{err, ""}
	}
	if _, err := config.LoadData(path, data, opts); err != nil {
		return &usageError{fmt.Errorf("nothing is written: %w", err), ""}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := clients.WriteFile(path, old, data, 0); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s has %q now:\n", terminal.OneLine(shownPath), name)
	if err := a.printEntry(name, shown); err != nil {
		return err
	}
	flags := ""
	if cmd.Flags().Changed("config") {
		flags = " --config " + pin.Quoted(shownPath)
	}
	a.printLeft(e, name, flags, server, plain)
	return nil
}

// values are those of the arguments and of --set. Plain are the variables among them whose
// values are no references: they stand in the file as they are.
func (a *adding) values(e *catalogue.Entry, args []string) (values catalogue.Values, plain []string, err error) {
	values, err = e.Arguments(args)
	if err != nil {
		return nil, nil, err
	}
	for _, each := range a.set {
		name, value, ok := strings.Cut(each, "=")
		if !ok {
			return nil, nil, fmt.Errorf("--set takes NAME=VALUE, not %q", name)
		}
		if err := e.Set(values, name, value); err != nil {
			return nil, nil, err
		}
		if slices.Contains(e.References(), name) && !strings.Contains(value, "${") {
			plain = append(plain, name)
		}
	}
	for _, p := range e.Parameters {
		for i, value := range values[p.Name] {
			if values[p.Name][i], err = located(p, value); err != nil {
				return nil, nil, err
			}
		}
	}
	return values, plain, nil
}

// located is a value of a parameter. That of a folder, file or path is absolute, since servers
// are started in the folder of whoever starts rlmproxy.
func located(p catalogue.Parameter, value string) (string, error) {
	switch {
	case p.Kind != "folder" && p.Kind != "file" && p.Kind != "path" || strings.Contains(value, "${"):
		return value, nil
	case value == "":
		return "", fmt.Errorf("%s is empty", strings.ToUpper(p.Name))
	}
	if below, ok := strings.CutPrefix(value, "~/"); ok { // which no shell replaces behind --set NAME=
		if home, err := os.UserHomeDir(); err == nil {
			value = filepath.Join(home, below)
		}
	}
	if p.Kind == "path" {
		if dir := filepath.Dir(value); !isFolder(dir) {
			return "", fmt.Errorf("%s: there is no folder %s", strings.ToUpper(p.Name), dir)
		}
		return filepath.Abs(value)
	}
	info, err := os.Stat(value)
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.ToUpper(p.Name), err)
	}
	if info.IsDir() != (p.Kind == "folder") {
		return "", fmt.Errorf("%s: %s is no %s", strings.ToUpper(p.Name), value, p.Kind)
	}
	return filepath.Abs(value)
}

// addTarget is the file that add writes: as people know it, and as an absolute path.
func addTarget(opts config.Options) (shown, path string, err error) {
	shown, path, err = config.Find(opts)
	if !errors.Is(err, config.ErrNoConfig) {
		return shown, path, err
	}
	if opts.UserConfigDir == "" {
		return "", "", &usageError{errors.New("there is no configuration folder"), "--config names the file to write"}
	}
	path = filepath.Join(opts.UserConfigDir, "rlmproxy", "mcp.json")
	return path, path, nil
}

// printEntry prints an entry as it stands in mcp.json.
func (a *adding) printEntry(name string, server json.RawMessage) error {
	var b bytes.Buffer
	quoted, err := json.Marshal(name)
	if err == nil {
		err = json.Indent(&b, server, "", "  ")
	}
	if err == nil {
		_, err = fmt.Fprintf(a.stdout, "%s: %s\n", quoted, terminal.Visible(b.String()))
	}
	return err
}

// printLeft says what is left to do until the server can be used. Flags are those that name the
// file.
func (a *adding) printLeft(e *catalogue.Entry, name, flags string, server json.RawMessage, plain []string) {
	say := func(format string, args ...any) {
		fmt.Fprintln(a.stdout, terminal.OneLine(fmt.Sprintf(format, args...)))
	}
	if len(e.Needs) > 0 {
		say("needs: %s", strings.Join(e.Needs, "; "))
	}
	if program := startsWith(server); program != "" && !strings.Contains(program, "${") {
		if _, err := exec.LookPath(program); err != nil {
			say("missing: %s is not on PATH", program)
		}
	}
	for _, variable := range catalogue.Missing(server, func(name string) bool { return os.Getenv(name) != "" }) {
		about := ""
		if e.Variables[variable] != "" {
			about = ", " + e.Variables[variable]
		}
		say("missing: %s%s. Set it where rlmproxy is started, or: rlmproxy secret set %[1]s, and write ${keyring:%[1]s} in its place", variable, about)
	}
	for _, variable := range plain {
		say("%s stands in the file as it is; ${keyring:%[1]s} would keep it out", variable)
	}
	for _, key := range catalogue.Kept(server) {
		say("first, keep the secret: rlmproxy secret set %s", key)
	}
	if e.SignIn {
		say("sign in: rlmproxy auth login %s%s", pin.Quoted(name), flags)
	}
	if e.Note != "" {
		say("note: %s", e.Note)
	}
	say("see its tools: rlmproxy tools%s", flags)
}
