package main

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"rlmproxy/config"
	"rlmproxy/config/clients"
	"rlmproxy/config/entries"
	"rlmproxy/middleware"
	"rlmproxy/middleware/tools"
	"rlmproxy/pipeline"
)

// A manager changes mcp.json for the agent at stdin and stdout.
type manager struct {
	takeover *takeover
	path     string
	opts     config.Options // as the file was read
	log      *slog.Logger

	writing sync.Mutex // one writes at a time
}

var _ middleware.Manager = (*manager)(nil)

// manage offers the client to change servers, if the operator wants that and there is a file.
func (c *cli) manage(cmd *cobra.Command, t *takeover) error {
	cfg := t.stack.cfg
	switch {
	case !cfg.Proxy.EnableUpstreamTool:
		return nil
	case t.load == nil:
		t.log.Warn("enableUpstreamTool has no effect: without mcp.json there is nothing to change")
		return nil
	}
	opts, err := c.options(cmd, fromKeyring)
	if err != nil {
		return err
	}
	t.stack.server.Manage(&manager{takeover: t, path: cfg.Path, opts: opts, log: t.log})
	return nil
}

// Entries implements [middleware.Manager].
func (m *manager) Entries() (list []middleware.Entry) {
	for _, sc := range m.takeover.now().Servers {
		about := []string{sc.Type}
		if sc.Type == "" {
			about[0] = "http"
		}
		for what, values := range map[string]map[string]string{"env": sc.Env, "headers": sc.Headers} {
			if len(values) > 0 {
				about = append(about, what+" "+strings.Join(slices.Sorted(maps.Keys(values)), ", "))
			}
		}
		slices.Sort(about[1:])
		list = append(list, middleware.Entry{Name: sc.Name, About: strings.Join(about, "; "), Disabled: sc.Disabled})
	}
	return list
}

// A draft is changes to the file as it was read.
type draft struct {
	old, new []byte
	edit     *entries.Edit
}

// Plan implements [middleware.Manager].
func (m *manager) Plan(changes []tools.Change) (*middleware.Plan, error) {
	var list []entries.Change
	for _, c := range changes {
		list = append(list, entries.Change{Action: c.Action, Name: c.Name, Server: c.Server})
	}
	d, err := m.draft(list)
	if err != nil {
		return nil, err
	}
	plan := &middleware.Plan{Does: d.edit.Does, Asks: d.edit.Asks,
		ByHand: fmt.Sprintf(`have the person write it into "mcpServers" of %s, which the proxy takes over at once`, m.path)}
	for _, name := range d.edit.Held {
		plan.Review = append(plan.Review, m.review(name))
	}
	plan.Make = func(agent string, asked bool) error { return m.make(d, list, agent, asked) }
	return plan, nil
}

// review is the command by which a person looks at the tools of a server.
func (m *manager) review(name string) string {
	store, err := m.takeover.stack.openPins(m.takeover.now())
	if err != nil {
		return "rlmproxy trust review"
	}
	return store.Command("review", name)
}

// draft makes changes to the file as it is now. What it would be then has been checked.
func (m *manager) draft(changes []entries.Change) (*draft, error) {
	old, err := clients.ReadFile(m.path)
	if err != nil {
		return nil, m.fault("mcp.json cannot be read", err)
	}
	edit, err := entries.Apply("mcp.json", old, changes, m.takeover.now().Proxy.PinTools)
	if err != nil {
		return nil, refusedChange(err)
	}
	cfg, err := config.LoadData(m.path, edit.Data, m.opts)
	if err == nil {
		err = m.takeover.check(cfg)
	}
	if err != nil {
		return nil, refusedChange(err)
	}
	return &draft{old, edit.Data, edit}, nil
}

// make writes the file, and takes it over. A file that has changed meanwhile is read once more:
// what is done to it must be what it was.
func (m *manager) make(d *draft, changes []entries.Change, agent string, asked bool) error {
	m.writing.Lock()
	defer m.writing.Unlock()
	err := clients.WriteFile(m.path, d.old, d.new, 0)
	if errors.Is(err, clients.ErrChanged) {
		next, stale := m.draft(changes)
		if stale != nil {
			return stale
		}
		if !slices.Equal(next.edit.Does, d.edit.Does) || !slices.Equal(next.edit.Asks, d.edit.Asks) {
			return refusedChange(errors.New("mcp.json has changed meanwhile"))
		}
		err = clients.WriteFile(m.path, next.old, next.new, 0)
	}
	if err != nil {
		return m.fault("mcp.json cannot be written", err)
	}
	for _, c := range changes {
		m.log.Info("an agent has changed mcp.json", "agent", agent, "action", c.Action, "server", c.Name, "person_agreed", asked)
	}
	if err := m.takeover.try(false); err != nil {
		m.takeover.refuse(err)
		return &pipeline.Error{Code: pipeline.BadArguments, Text: "mcp.json was written, but could not be taken over; the log of the proxy says why", Hint: "rlmproxy doctor"}
	}
	return nil
}

// fault is why the file is of no use. What the system says goes to the log: it has paths.
func (m *manager) fault(text string, err error) error {
	m.log.Error(text+", so it is not changed for an agent", "error", err)
	reason := "the log of the proxy says why"
	switch {
	case errors.Is(err, os.ErrPermission):
		reason = "permission denied"
	case errors.Is(err, clients.ErrChanged):
		reason = "it keeps changing"
	}
	return &pipeline.Error{Code: pipeline.BadArguments, Text: "nothing is changed: " + text + ": " + reason, Hint: "ask the person what to do instead"}
}

// refusedChange is why changes are not made, for the agent: without the lines of a file that is
// not written.
func refusedChange(err error) error {
	var mistakes config.ErrorList
	if errors.As(err, &mistakes) {
		var list config.ErrorList
		for _, mistake := range mistakes {
			mistake.Path, mistake.Excerpt = "", ""
			list = append(list, mistake)
		}
		err = list
	}
	return &pipeline.Error{Code: pipeline.BadArguments, Text: "nothing is changed: " + err.Error(), Hint: "all changes of a call are made, or none"}
}
