package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rlmproxy/config"
	"rlmproxy/middleware/pin"
	"rlmproxy/middleware/scan"
	"rlmproxy/pipeline/show"
)

func (c *cli) trustCommand() *cobra.Command {
	trust := family(&cobra.Command{
		Use:   "trust",
		Short: "Look at tools that have changed, and accept them",
		Long: `Serve and wrap pin a tool's definition when they first see it. If it changes later,
they hold the tool back: agents neither see nor call it until you accept it here.
Running proxies notice that by themselves.`,
		Example: "  rlmproxy trust review\n  rlmproxy trust accept files/read_file",
	})
	var everything bool
	review := &cobra.Command{
		Use:   "review [SERVER[/TOOL]...]",
		Short: "Show what is held back: old and new",
		RunE: func(cmd *cobra.Command, args []string) error {
			store, done, err := c.pins(cmd, true)
			if err != nil {
				return err
			}
			defer done()
			return c.review(store, args)
		},
	}
	accept := &cobra.Command{
		Use:   "accept {SERVER[/TOOL][@CODE]... | --all}",
		Short: "Accept tools as they are now, or with review's CODE only as review showed them",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 == !everything {
				return &usageError{errors.New("name what to accept, or write --all"), "rlmproxy trust review shows what there is"}
			}
			store, done, err := c.pins(cmd, false)
			if err != nil {
				return err
			}
			defer done()
			return c.accept(store, args)
		},
	}
	accept.Flags().BoolVar(&everything, "all", false, "accept everything that is held back, of every server")
	forget := &cobra.Command{
		Use:   "forget SERVER...",
		Short: "Remove the pins of servers: the tools that they offer next are pinned anew",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{errors.New("name a server"), "rlmproxy trust review lists those that are pinned"}
			}
			store, done, err := c.pins(cmd, false)
			if err != nil {
				return err
			}
			defer done()
			return c.forget(store, args)
		},
	}
	for _, cmd := range []*cobra.Command{review, accept, forget} {
		c.stateFlags(cmd, "cache-url", "fleet-name")
		cmd.ValidArgsFunction = c.completing(0, c.pinnedNames)
		trust.AddCommand(cmd)
	}
	return trust
}

// pins opens the pins that the command's flags, the environment or a file name, until done
// is called.
func (c *cli) pins(cmd *cobra.Command, readOnly bool) (store *pin.Store, done func(), err error) {
	cfg, err := c.readSettings(cmd)
	if err != nil && !errors.Is(err, config.ErrNoConfig) {
		return nil, nil, &usageError{err: err}
	}
	shared, err := reach(cfg.Proxy)
	if err == nil {
		store, err = openPins(cfg, shared, readOnly)
	}
	if err != nil {
		shared.Close()
		return nil, nil, err
	}
	return store, shared.Close, nil
}

// A heldTool is a tool that a person named, of those that are held back.
type heldTool struct {
	record *pin.Record
	name   string
}

// heldOf returns the tools that are held back of those that args name, or of all.
func heldOf(records []*pin.Record, args []string) ([]heldTool, error) {
	var all []heldTool
	for _, r := range records {
		for _, name := range r.Held() {
			all = append(all, heldTool{r, name})
		}
	}
	if len(args) == 0 {
		return all, nil
	}
	var chosen []heldTool
	for _, arg := range args {
		target, code := arg, ""
		if at := strings.LastIndexByte(arg, '@'); at > 0 && len(arg)-at == 9 {
			target, code = arg[:at], arg[at+1:]
		}
		var found, current []heldTool
		for _, t := range all {
			ofServer := t.record.Server == target
			if !ofServer && t.record.Server+"/"+t.name != target {
				continue
			}
			found = append(found, t)
			if code == "" || code == codeOf(t, ofServer) {
				current = append(current, t)
			}
		}
		switch {
		case len(found) == 0:
			return nil, &usageError{fmt.Errorf("nothing of %q is held back", target), "rlmproxy trust review shows what is; it knows of changes that serve or wrap has seen"}
		case len(current) == 0:
			return nil, &usageError{fmt.Errorf("%s has changed since review printed this code", target), "rlmproxy trust review " + pin.Quoted(target)}
		}
		chosen = append(chosen, current...)
	}
	return chosen, nil
}

// codeOf is the code of what is held back: of a tool, or of its whole server.
func codeOf(t heldTool, ofServer bool) string {
	if !ofServer {
		return pin.Code(t.record.Tools[t.name].Seen)
	}
	names := t.record.Held()
	var seen [][]byte
	for _, name := range names {
		seen = append(seen, t.record.Tools[name].Seen)
	}
	return pin.Code(seen...)
}

// review prints what is held back, and what is odd in what is not.
func (c *cli) review(store *pin.Store, args []string) error {
	records, unreadable := store.Records()
	held, err := heldOf(records, args)
	if err != nil {
		return errors.Join(err, unreadable)
	}
	for i, t := range held {
		tool := t.record.Tools[t.name]
		target := t.record.Server + "/" + t.name
		fmt.Fprintf(c.stdout, "%s: %s\n%s", scan.Line(target), tool.Change(), pin.Diff(tool.Pinned, tool.Seen))
		for _, f := range scan.Definition(tool.Seen) {
			fmt.Fprintln(c.stdout, "suspicious:", f)
		}
		fmt.Fprintf(c.stdout, "accept it: %s\n", store.Command("accept", target+"@"+codeOf(t, false)))
		if last := i == len(held)-1 || held[i+1].record != t.record; last && len(t.record.Held()) > 1 {
			fmt.Fprintf(c.stdout, "accept all %d of %s: %s\n", len(t.record.Held()), scan.Line(t.record.Server), store.Command("accept", t.record.Server+"@"+codeOf(t, true)))
		}
		fmt.Fprintln(c.stdout)
	}
	if len(args) == 0 {
		c.reviewRest(store, records, len(held))
	}
	if unreadable != nil {
		return fmt.Errorf("%w\nthe tools of such a server are held back: look at it, then remove it or run rlmproxy trust forget SERVER", unreadable)
	}
	return nil
}

// reviewRest prints what is odd in tools that agents get, and how many there are.
func (c *cli) reviewRest(store *pin.Store, records []*pin.Record, held int) {
	pinned := 0
	var servers, odd []string
	var names []scan.Name
	for _, r := range records {
		servers = append(servers, scan.Line(r.Server))
		for _, name := range r.Names() {
			names = append(names, scan.Name{Server: r.Server, Tool: name})
			if t := r.Tools[name]; t.Pinned != nil {
				pinned++
				for _, f := range scan.Definition(t.Pinned) {
					odd = append(odd, fmt.Sprintf("suspicious, but offered to agents: %s/%s: %s", scan.Line(r.Server), scan.Line(name), f))
				}
			}
		}
	}
	alike := scan.LookAlikes(names)
	for _, n := range names {
		for _, f := range alike[n] {
			odd = append(odd, fmt.Sprintf("suspicious: %s/%s: %s", scan.Line(n.Server), scan.Line(n.Tool), f))
		}
	}
	said := map[string]bool{} // a server that ran something else before has two records
	for _, line := range odd {
		if !said[line] {
			fmt.Fprintln(c.stdout, line)
		}
		said[line] = true
	}
	fmt.Fprintf(c.stdout, "%s held back, %s pinned in %s\n", show.Plural(held, "tools"), show.Plural(pinned, "tools"), store.Where())
	if len(servers) > 0 {
		fmt.Fprintln(c.stdout, "servers:", strings.Join(slices.Compact(servers), ", "))
	}
}

// accept pins tools as they are now.
func (c *cli) accept(store *pin.Store, args []string) error {
	var done []string
	err := store.Update(func(all []*pin.Record) error {
		done = nil
		held, err := heldOf(all, args)
		for _, t := range held {
			if t.record.Tools[t.name].Seen == nil {
				continue // named twice
			}
			done = append(done, fmt.Sprintf("accepted %s/%s: %s", scan.Line(t.record.Server), scan.Line(t.name), t.record.Tools[t.name].Change()))
			t.record.Accept(t.name)
		}
		return err
	})
	if len(done) == 0 && err == nil {
		done = []string{"nothing is held back"}
	}
	if err == nil {
		fmt.Fprintln(c.stdout, strings.Join(done, "\n"))
	}
	return err
}

// forget removes pins.
func (c *cli) forget(store *pin.Store, servers []string) error {
	for _, name := range servers {
		n, err := store.Forget(name)
		if err != nil {
			return err
		}
		if n == 0 {
			return &usageError{fmt.Errorf("no server %q is pinned", name), "rlmproxy trust review lists those that are"}
		}
		fmt.Fprintf(c.stdout, "forgot the tools of %s\n", scan.Line(name))
	}
	return nil
}
