package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"rlmproxy/config"
	"rlmproxy/keyring"
	"rlmproxy/middleware"
	"rlmproxy/middleware/pin"
	"rlmproxy/pipeline/redact"
)

// openKeyring opens the operator's secrets. The flags are what commands in hints need to
// find them.
func openKeyring(p config.Proxy) (ring *keyring.Ring, flags string, err error) {
	dir, flags, err := stateDir(p)
	if err != nil {
		return nil, "", fmt.Errorf("the state folder cannot be used: %w", err)
	}
	return keyring.Open(dir), flags, nil
}

// fromKeyring is what ${keyring:NAME} stands for.
func fromKeyring(stateDir, name string) (string, error) {
	ring, flags, err := openKeyring(config.Proxy{StateDir: stateDir})
	if err != nil {
		return "", err
	}
	secret, err := ring.Get(name)
	if errors.Is(err, keyring.ErrNotFound) {
		err = fmt.Errorf("%w; keep it with rlmproxy secret set%s %s", err, flags, pin.Quoted(name))
	}
	return secret, err
}

// masks replaces secrets in a text, or is nil if there are none.
func masks(secrets []config.Secret) func(string) string {
	if len(secrets) == 0 {
		return nil
	}
	var forms []string
	for _, secret := range secrets {
		forms = append(forms, quotings(string(secret))...)
	}
	slices.SortStableFunc(forms, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, form := range forms {
		pairs = append(pairs, form, "[redacted: secret]")
	}
	return strings.NewReplacer(pairs...).Replace
}

// quotings is a text as it is, and as it stands in the quotes of JSON, of Go and of an apostrophe
// (Python, JavaScript): servers log so what they were given, and a key that is a file of
// JSON has quotes and line ends.
func quotings(text string) []string {
	html, err := json.Marshal(text)
	if err != nil {
		return []string{text} // a string always has a form
	}
	quoted := strconv.Quote(text)
	single := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(text)
	all := []string{text, quoted[1 : len(quoted)-1], string(html[1 : len(html)-1]), single}
	slices.Sort(all)
	return slices.Compact(all)
}

func (c *cli) secretCommand() *cobra.Command {
	secret := family(&cobra.Command{
		Use:   "secret",
		Short: "Keep a secret for ${keyring:NAME} in mcp.json",
		Long: `Secret keeps a secret in the keyring of the system or, where there is none, in a file of
the state folder that only you can read. In mcp.json, write ${keyring:NAME} in its
place.`,
		Example: "  rlmproxy secret set github\n  pass show github | rlmproxy secret set github\n  rlmproxy secret delete github",
	})
	set := &cobra.Command{
		Use:   "set NAME",
		Short: "Keep a secret that you type or send to stdin",
		RunE: c.withKeyring(func(ctx context.Context, ring *keyring.Ring, name string) error {
			text, err := c.typed(ctx, "secret for "+name)
			if err == nil {
				err = ring.Set(name, text)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			_, err = fmt.Fprintf(c.stdout, "%s is in %s; ${keyring:%s} stands for it\n", name, ring.Where(name), name)
			return err
		}),
	}
	remove := &cobra.Command{
		Use:   "delete NAME",
		Short: "Forget a secret",
		RunE: c.withKeyring(func(_ context.Context, ring *keyring.Ring, name string) error {
			if err := ring.Delete(name); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			_, err := fmt.Fprintln(c.stdout, name, "is forgotten")
			return err
		}),
	}
	for _, cmd := range []*cobra.Command{set, remove} {
		c.stateFlags(cmd)
		secret.AddCommand(cmd)
	}
	return secret
}

// withKeyring is a command about one secret.
func (c *cli) withKeyring(run func(ctx context.Context, ring *keyring.Ring, name string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 { // which are not shown: one may be the secret
			return &usageError{errors.New("name one secret, and nothing else: the secret itself is read from stdin"), cmd.CommandPath() + " github"}
		}
		cfg, err := c.readSettings(cmd)
		if err != nil && !errors.Is(err, config.ErrNoConfig) {
			return &usageError{err: err}
		}
		ring, _, err := openKeyring(cfg.Proxy)
		if err != nil {
			return err
		}
		return run(cmd.Context(), ring, args[0])
	}
}

// maxTyped is more than a keyring takes.
const maxTyped = 128 << 10

// typed reads a secret: from a terminal without showing it, else all of stdin without the
// end of its last line.
func (c *cli) typed(ctx context.Context, what string) (string, error) {
	if f, ok := c.stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(c.stderr, "%s (not shown): ", what)
		defer fmt.Fprintln(c.stderr)
		fd := int(f.Fd())
		shown, err := term.GetState(fd)
		if err != nil {
			return "", err
		}
		defer context.AfterFunc(ctx, func() { // which ends no read
			_ = term.Restore(fd, shown)
			fmt.Fprintln(c.stderr)
			os.Exit(exitFailed)
		})()
		text, err := term.ReadPassword(fd)
		return string(bytes.TrimSpace(text)), err
	}
	text, err := io.ReadAll(io.LimitReader(c.stdin, maxTyped))
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), err
}

// masker takes secrets out of what is logged of a server and of errors about it: those that
// it was given and, where it is to be redacted, those that a rule describes. Nil: none.
func masker(p config.Proxy, sc config.Server) func(string) string {
	given := masks(sc.Secrets)
	switch {
	case redacts(p, sc) != middleware.RedactOn:
		return given
	case given == nil:
		return redact.All
	}
	return func(text string) string { return redact.All(given(text)) }
}
