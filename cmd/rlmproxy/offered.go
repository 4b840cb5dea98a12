package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rlmproxy/config"
	"rlmproxy/middleware"
	"rlmproxy/middleware/rights"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

// maxCatalogue is how many tokens of definitions go by without a word: a tenth of the
// context of 200,000 tokens that many models have.
const maxCatalogue = 20_000

// catalogues looks at the tools that agents get.
func (d *doctor) catalogues(s *stack) error {
	names, pins, definitions, cost := d.begin("names"), d.begin("pins"), d.begin("definitions"), d.begin("tokens")
	hidden, err := s.server.HiddenTools(cliName)
	if err != nil {
		return err
	}
	found := map[[2]string]bool{} // by agents that search
	for _, t := range hidden {
		if t.Found {
			found[[2]string{t.Server, t.Tool}] = true
		}
	}
	var biggest middleware.Catalogue
	all, held, total, most, owner := 0, 0, 0, 0, ""
	for i := range d.Servers {
		report := &d.Servers[i]
		cat, err := s.server.Catalogue(report.Name)
		if err != nil {
			return err
		}
		for _, t := range cat.Tools {
			if !found[[2]string{report.Name, t.Tool}] {
				n, _ := tokens.Count(t.Definition)
				report.Tokens += n
			}
		}
		report.Tools = len(cat.Tools)
		all, held, total = all+report.Tools, held+len(cat.Held), total+report.Tokens
		if report.Tokens > most {
			biggest, most, owner = cat, report.Tokens, report.Name
		}
		if r := s.running(report.Name); r != nil {
			d.names(names, r.entry, cat)
			d.globs(names, r)
		}
		if cat.Held != nil {
			d.add(pins, warning, report.Name, "held back until you accept them: "+someOf(cat.Held), cat.Review+"; if that shows nothing, start your client once and run it again")
		}
		for _, odd := range s.server.Oddities(report.Name) {
			d.add(definitions, warning, report.Name, odd, fmt.Sprintf(`read it; if it means harm, set "disabled": true in mcpServers.%s`, report.Name))
		}
	}
	for _, odd := range s.server.LookAlikes() {
		d.add(definitions, warning, "", odd, `keep the one that you mean, and name the other in "deny" of its server`)
	}
	names.Text = show.Plural(all, "tools")
	pins.Text = show.Plural(held, "tools") + " held back"
	definitions.Text = "searched for hidden instructions"
	cost.Text = show.Count(total) + " for the tools' definitions, in every conversation"
	if len(found) > 0 {
		cost.Text += "; agents search for " + show.Plural(len(found), "tools") + " (exposure)"
	}
	if total > maxCatalogue {
		slices.SortStableFunc(biggest.Tools, func(a, b middleware.Offered) int { return cmp.Compare(len(b.Definition), len(a.Definition)) })
		var largest []string
		for _, t := range biggest.Tools[:min(3, len(biggest.Tools))] {
			largest = append(largest, show.Quote(t.Tool))
		}
		d.add(cost, warning, owner, fmt.Sprintf("its tools have %s of the %s tokens", show.Count(most), show.Count(total)),
			fmt.Sprintf(`let agents search for tools, with "exposure": "auto" in proxySettings, or leave out those that you do not use, as with "deny": [%s] in mcpServers.%s; rlmproxy tools%s shows what each costs`, strings.Join(largest, ", "), owner, d.flags))
	}
	return nil
}

// someOf are at most three of list.
func someOf(list []string) string {
	if len(list) <= 3 {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:3], ", "), len(list)-3)
}

const (
	maxToolName = 64 // that model APIs take
	// maxWithServer is what Cursor takes of the name of a tool and that of its server, which
	// we are.
	maxWithServer = 60 - len("rlmproxy")
)

// names looks at what a server's tools are called for agents.
func (d *doctor) names(look *check, sc config.Server, cat middleware.Catalogue) {
	var long, wide, taken []string
	longest := 0
	for _, t := range cat.Tools {
		longest = max(longest, len([]rune(t.Tool)))
		switch {
		case t.TooLong:
			long = append(long, t.Name)
		case t.Why != "":
			taken = append(taken, fmt.Sprintf("%s (%s)", t.Name, t.Why))
		case len(t.Name) > maxWithServer:
			wide = append(wide, t.Name)
		}
	}
	if long != nil {
		d.add(look, warning, sc.Name, fmt.Sprintf("names of over %d characters end in a hash: %s", maxToolName, someOf(long)), shorter(sc, longest))
	}
	if wide != nil {
		d.add(look, warning, sc.Name, fmt.Sprintf("names of over %d characters, which Cursor leaves out: %s", maxWithServer, someOf(wide)), shorter(sc, longest))
	}
	if taken != nil {
		other := sc.Name
		if sc.Prefix == nil || *sc.Prefix == sc.Name {
			other += "2"
		}
		d.add(look, warning, sc.Name, "names that are taken end in a hash: "+someOf(taken), fmt.Sprintf(`set "prefix": %s in mcpServers.%s`, show.Quote(other), sc.Name))
	}
	if cat.LeftOut.N > 0 {
		d.add(look, warning, sc.Name, fmt.Sprintf("%s left out: %s (%s)", show.Plural(cat.LeftOut.N, "tools"), someOf(cat.LeftOut.Names), cat.LeftOut.Why), "tell the author of the server; the others work")
	}
}

// shorter is the prefix with which a server's longest tool has a name for everybody.
func shorter(sc config.Server, longest int) string {
	prefix := []rune(sc.Name)
	if sc.Prefix != nil {
		prefix = []rune(*sc.Prefix)
	}
	for _, most := range []int{maxWithServer, maxToolName} {
		if room := most - longest - 1; room > 0 && len(prefix) > 0 {
			return fmt.Sprintf(`set "prefix": %s in mcpServers.%s`, show.Quote(strings.TrimRight(string(prefix[:min(room, len(prefix))]), "_-. ")), sc.Name)
		} else if longest <= most && len(prefix) > 0 {
			return fmt.Sprintf(`set "prefix": "" in mcpServers.%s`, sc.Name)
		}
	}
	return fmt.Sprintf(`nothing, if agents can call it; otherwise name it in "deny" of mcpServers.%s`, sc.Name)
}

// globs looks for those of a server's entry that match none of its tools.
func (d *doctor) globs(look *check, r *server) {
	var has []string
	for _, t := range r.up.Tools() {
		has = append(has, t.Name)
	}
	if has == nil {
		return
	}
	sc := r.entry
	for _, setting := range []struct {
		name  string
		globs []string
	}{{"allow", sc.Allow}, {"deny", sc.Deny}, {"freshCalls", sc.FreshCalls}, {"tools", slices.Sorted(maps.Keys(sc.Tools))}} {
		for _, glob := range setting.globs {
			if !slices.ContainsFunc(has, func(tool string) bool { return rights.Match([]string{glob}, tool) }) {
				d.add(look, warning, sc.Name, fmt.Sprintf("%q has %q, which matches none of its tools", setting.name, glob), "correct it: its tools are "+someOf(has))
			}
		}
	}
}
