// Package connect has the commands that put rlmproxy in front of the servers of MCP clients, and
// take it out again. What is in the clients' files, config/clients knows.
package connect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"rlmproxy/cmd/rlmproxy/terminal"
	"rlmproxy/config/clients"
	"rlmproxy/middleware/pin"
	"rlmproxy/pipeline/redact"
)

// Commands are connect, disconnect and import.
type Commands struct {
	Stdout   io.Writer
	Progress func(text func() string) (done func()) // tells what takes long

	config string // the file of --config
}

// All are the commands, each of which can be run once.
func (c *Commands) All() []*cobra.Command {
	return []*cobra.Command{c.importCommand(), c.connectCommand(), c.disconnectCommand()}
}

// A mistake is one that the caller's command line can repair.
type mistake struct {
	err  error
	hint string
}

func (m *mistake) Error() string { return m.err.Error() }
func (m *mistake) Unwrap() error { return m.err }

// Repair is what to do, or "".
func (m *mistake) Repair() string { return m.hint }

// system is where the clients of this person have their files.
func system() (clients.System, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return clients.System{}, err
	}
	dir, err := os.Getwd()
	return clients.System{OS: runtime.GOOS, Home: home, Dir: dir, Getenv: os.Getenv, List: list}, err
}

// list names what is in a folder, or nothing if it cannot be read.
func list(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// client is the one that an argument names.
func client(name string) (*clients.Client, error) {
	if c := clients.Find(name); c != nil {
		return c, nil
	}
	return nil, &mistake{fmt.Errorf("unknown client %q", name), "one of " + strings.Join(clients.Names(), ", ")}
}

// inHome is path with ~ for the home folder, for people.
func inHome(path string) string {
	if home, err := os.UserHomeDir(); err == nil {
		if rel, err := filepath.Rel(home, path); err == nil && filepath.IsLocal(rel) {
			path = filepath.Join("~", rel)
		}
	}
	return terminal.OneLine(path)
}

// printDiff shows what a dry run would change.
func (c *Commands) printDiff(path string, old, data []byte) {
	fmt.Fprint(c.Stdout, terminal.Visible(redact.All(clients.Diff(path, old, data))))
}

// clientFlags are what the commands about clients have in common: their arguments are names
// of clients.
func (c *Commands) clientFlags(cmd *cobra.Command, dry *bool, file string) {
	cmd.ValidArgsFunction = cobra.FixedCompletions(clients.Names(), cobra.ShellCompDirectiveNoFileComp)
	if file != "" {
		cmd.Flags().StringVarP(&c.config, "config", "c", "", file)
	}
	cmd.Flags().BoolVar(dry, "dry-run", false, "only show what would change")
}

// readOrNil is the content of a file, or nil if there is none.
func readOrNil(path string) ([]byte, error) {
	data, err := clients.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// writeConfig writes a file of ours, which may hold secrets.
func writeConfig(path string, old, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return clients.WriteFile(path, old, data, 0o600)
}

// told says of each server what the totals do not.
func (c *Commands) told(found []clients.Found, target string) {
	for _, f := range found {
		who := fmt.Sprintf("%s: %s", f.Place.Client.Name, f.Name)
		say := func(format string, args ...any) {
			fmt.Fprintln(c.Stdout, terminal.OneLine(who+" "+fmt.Sprintf(format, args...)))
		}
		switch {
		case f.Name == clients.Ours: // connected
			continue
		case f.Ours:
			say("is rlmproxy itself, and stays")
			continue
		case f.Stays != "":
			say("stays with %s: %s", f.Place.Client.Title, f.Stays)
			continue
		case f.Outcome == clients.Differs:
			say("differs from %q in %s, which stays as it is", f.As, target)
		case f.As != f.Name:
			say("is named %q: another client has a different one of that name", f.As)
		}
		for _, note := range f.Notes {
			fmt.Fprintln(c.Stdout, terminal.OneLine(who+": "+note))
		}
	}
}

// secretsFirst says which secrets the servers that were taken need.
func (c *Commands) secretsFirst(found []clients.Found) {
	said := map[string]bool{}
	for _, f := range found {
		for _, name := range f.Secrets {
			if f.As != "" && !said[name] {
				said[name] = true
				fmt.Fprintf(c.Stdout, "First, keep the secret that %s asked for: rlmproxy secret set %s\n", f.Place.Client.Title, pin.Quoted(name))
			}
		}
	}
}

func scopeFlag(cmd *cobra.Command, scope *string) {
	cmd.Flags().StringVar(scope, "scope", "user", "`scope` of the client's file: user, project (in the working directory), or local (Claude Code's for you in this project)")
}

// withPlace is a command about one place of a client.
func (c *Commands) withPlace(scope *string, run func(clients.Place) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return &mistake{fmt.Errorf("%s takes one client", cmd.Name()), "one of " + strings.Join(clients.Names(), ", ")}
		}
		known, err := client(args[0])
		if err != nil {
			return err
		}
		sys, err := system()
		if err != nil {
			return err
		}
		var scopes []string
		for _, p := range sys.Places(known, isFile) {
			if p.Scope == *scope {
				return run(p)
			}
			scopes = append(scopes, p.Scope)
		}
		return &mistake{fmt.Errorf("%s has no scope %q here", known.Name, *scope), "one of " + strings.Join(scopes, ", ")}
	}
}
