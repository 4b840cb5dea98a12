package connect

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rlmproxy/cmd/rlmproxy/terminal"
	"rlmproxy/config"
	"rlmproxy/config/clients"
	"rlmproxy/middleware/pin"
)

func (c *Commands) connectCommand() *cobra.Command {
	var dry bool
	var scope string
	cmd := &cobra.Command{
		Use:   "connect CLIENT",
		Short: "Put rlmproxy in front of the servers of an MCP client",
		Long: `Connect moves the servers of a client (` + strings.Join(clients.Names(), ", ") + `)
behind rlmproxy: into CLIENT.json in rlmproxy's configuration folder, or the file of --config.
In the client's own file, one entry that starts rlmproxy takes their place. All else there
stays, as does a server that rlmproxy could not run as the client does. Each client keeps
its own servers, and sees no other client's.

Connect keeps a copy of the file beside it; disconnect puts that back.`,
		Example: "  rlmproxy connect claude-desktop\n  rlmproxy connect cursor --scope project --dry-run",
		RunE: c.withPlace(&scope, func(p clients.Place) error {
			return c.connect(p, dry)
		}),
	}
	c.clientFlags(cmd, &dry, "put the servers into this `file`")
	scopeFlag(cmd, &scope)
	return cmd
}

func (c *Commands) disconnectCommand() *cobra.Command {
	var dry bool
	var scope string
	cmd := &cobra.Command{
		Use:   "disconnect CLIENT",
		Short: "Give an MCP client its servers back",
		Long: `Disconnect undoes connect: it restores the client's file byte for byte. If something else
in the file has changed since, that stays, and the servers take the place of rlmproxy's entry.`,
		Example: "  rlmproxy disconnect claude-desktop",
		RunE: c.withPlace(&scope, func(p clients.Place) error {
			return c.disconnect(p, dry)
		}),
	}
	c.clientFlags(cmd, &dry, "")
	scopeFlag(cmd, &scope)
	return cmd
}

// connect has the client of p start us in the place of its servers. Ours is one file for each
// client, not one for all: a person who gave a server to one client has not given it to the
// others, and each server more costs an agent the tokens of its tools.
func (c *Commands) connect(p clients.Place, dry bool) error {
	data, err := readOrNil(p.Path)
	if data == nil && err == nil {
		return &mistake{fmt.Errorf("%s has no file %s", p.Client.Title, p.Path), "add a server in " + p.Client.Title + " first, or name another --scope"}
	}
	if err != nil {
		return err
	}
	backup, err := readBackup(p)
	if err != nil {
		return err
	}
	base, err := p.Undo(data, backup) // connected before: servers may have come since
	if errors.Is(err, clients.ErrNotConnected) {
		base, backup, err = data, nil, nil
	}
	if err != nil {
		return err
	}
	servers, err := p.Read(base)
	if err != nil {
		return err
	}
	left, err := p.Read(data)
	if err != nil {
		return err
	}
	target, err := c.connectTarget(p)
	if err != nil {
		return err
	}
	old, err := readOrNil(target)
	if err != nil {
		return err
	}
	var found []clients.Found
	for _, s := range servers {
		found = append(found, clients.Found{Server: s, Place: p})
	}
	ours, err := clients.Add(target, old, clients.Merge(found))
	if err != nil {
		return &mistake{err: err}
	}
	var taken []string
	var longest clients.Seconds
	for _, f := range found {
		still := slices.ContainsFunc(left, func(s clients.Server) bool { return s.Name == f.Name })
		if f.As != "" && (f.Outcome != clients.Differs || !still) {
			taken = append(taken, f.Name)
			longest = max(longest, f.Entry.Timeout)
		}
	}
	c.told(found, inHome(target))
	if len(taken) == 0 {
		if _, err := config.Parse(target, ours); err != nil {
			return &mistake{fmt.Errorf("%s has no server that rlmproxy could take over in %s", p.Client.Title, p.Path), "rlmproxy import --dry-run lists the servers of all clients"}
		}
	}
	command, err := executable()
	if err != nil {
		return err
	}
	out, err := p.Connect(base, taken, clients.Launch{Command: command, Args: []string{"serve", "--config", target}, Timeout: longest})
	if err != nil {
		return err
	}
	if dry {
		c.printDiff(target, old, ours)
		c.printDiff(p.Path, data, out)
		return nil
	}
	if bytes.Equal(out, data) && bytes.Equal(ours, old) {
		fmt.Fprintf(c.Stdout, "%s is connected already: %s\n", p.Client.Title, inHome(p.Path))
		return nil
	}
	if err := writeConfig(target, old, ours); err != nil {
		return err
	}
	if !bytes.Equal(base, backup) {
		before, err := readBackup(p)
		if err == nil {
			err = clients.WriteFile(p.Backup(), before, base, 0o600)
		}
		if err != nil {
			return fmt.Errorf("backup: %w", err)
		}
	}
	if err := clients.WriteFile(p.Path, data, out, 0); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "%s has rlmproxy in front of %s\n", p.Client.Title, terminal.OneLine(strings.Join(taken, ", ")))
	fmt.Fprintf(c.Stdout, "  its file:     %s\n  as it was:    %s\n  the servers:  %s\n", inHome(p.Path), inHome(p.Backup()), inHome(target))
	if p.Scope == "project" {
		fmt.Fprintln(c.Stdout, "  The file is the project's: whoever shares it gets an entry with your paths.")
	}
	c.secretsFirst(found)
	fmt.Fprintf(c.Stdout, "Restart %s. To look: rlmproxy tools --config %s\nTo undo: rlmproxy disconnect %s\n", p.Client.Title, pin.Quoted(target), p.Client.Name+scopeArgument(p))
	return nil
}

// readBackup is the copy of p's file, or nil. A project may be a stranger's, who put a link
// there for us to write through.
func readBackup(p clients.Place) ([]byte, error) {
	if info, err := os.Lstat(p.Backup()); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file: remove it", p.Backup())
	}
	return readOrNil(p.Backup())
}

func scopeArgument(p clients.Place) string {
	if p.Scope == "user" {
		return ""
	}
	return " --scope " + p.Scope
}

// connectTarget is our file for the servers of p, as an absolute path.
func (c *Commands) connectTarget(p clients.Place) (string, error) {
	if c.config != "" {
		return filepath.Abs(c.config)
	}
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, "rlmproxy", p.Config()), err
}

// executable is the path of our program that stays when it is replaced by a newer one.
func executable() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	if strings.Contains(path, "go-build") {
		return "", &mistake{errors.New("go run removes this program when it ends"), "go install ./cmd/rlmproxy, and call that"}
	}
	if linked, err := exec.LookPath("rlmproxy"); err == nil && filepath.IsAbs(linked) {
		a, errA := os.Stat(linked)
		b, errB := os.Stat(path)
		if errA == nil && errB == nil && os.SameFile(a, b) {
			return linked, nil
		}
	}
	return path, nil
}

func (c *Commands) disconnect(p clients.Place, dry bool) error {
	data, err := readOrNil(p.Path)
	if err == nil && data == nil {
		err = &mistake{fmt.Errorf("%s has no file %s", p.Client.Title, p.Path), "name another --scope, if it was connected with one"}
	}
	if err != nil {
		return err
	}
	backup, err := readBackup(p)
	if err != nil {
		return err
	}
	out, err := p.Undo(data, backup)
	if errors.Is(err, clients.ErrNotConnected) {
		return &mistake{fmt.Errorf("%s is not connected: %w", p.Client.Title, err), "rlmproxy connect " + p.Client.Name + scopeArgument(p)}
	}
	if err != nil {
		return err
	}
	if dry {
		c.printDiff(p.Path, data, out)
		return nil
	}
	if err := clients.WriteFile(p.Path, data, out, 0); err != nil {
		return err
	}
	switch {
	case backup == nil:
		fmt.Fprintf(c.Stdout, "%s: the entry of rlmproxy is removed. There is no %s: the servers stay in the file that the entry named.\n", inHome(p.Path), inHome(p.Backup()))
	case bytes.Equal(out, backup):
		fmt.Fprintf(c.Stdout, "%s is as it was, byte for byte\n", inHome(p.Path))
	default:
		fmt.Fprintf(c.Stdout, "%s has its servers back; what else has changed since stays\n", inHome(p.Path))
	}
	if backup != nil {
		err = os.Remove(p.Backup())
	}
	fmt.Fprintf(c.Stdout, "Restart %s.\n", p.Client.Title)
	return err
}
