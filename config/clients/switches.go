package clients

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"rlmproxy/config/jsonc"
)

// maxSwitches bounds patterns, and maxPattern each of them: names of tools are shorter.
const (
	maxSwitches = 100
	maxPattern  = 200
)

var notInToolName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// switchedOff denies the tools that opencode switches off for all of its servers together:
//
//	"tools": {"github_*": false}, "permission": {"github_delete_*": "deny"}
//
// A pattern is about tools by the name that opencode gives them, SERVER_TOOL. Of those that
// match a tool, the last counts.
func (p Place) switchedOff(d *jsonc.Document, servers []Server) {
	if p.Client.Name != "opencode" {
		return
	}
	top, err := d.Object(nil, false)
	if err != nil {
		return
	}
	rules := append(switches(top, "tools"), switches(top, "permission")...)
	agents := agentSwitches(top)
	if len(rules) > maxSwitches || len(agents) > maxSwitches {
		for i := range servers {
			reading{p, &servers[i]}.note("tools and permission are not taken over: more than %d patterns", maxSwitches)
		}
		return
	}
	for i := range servers {
		s := &servers[i]
		if s.Stays != "" || s.Ours {
			continue
		}
		r := reading{p, s}
		prefix := notInToolName.ReplaceAllString(s.Name, "_") + "_"
		var allow, deny []string
		for _, rule := range rules {
			globs := remainders(rule.pattern, prefix)
			switch all := slices.Contains(globs, "*"); {
			case len(globs) == 0:
			case all: // whatever was said before
				allow, deny = nil, nil
				if !rule.on {
					deny = []string{"*"}
				}
			case !rule.on:
				deny = append(deny, globs...)
			case allow == nil && slices.Equal(deny, []string{"*"}):
				allow, deny = globs, nil
			default:
				if allow != nil {
					allow = append(allow, globs...)
				}
				if len(deny) > 0 {
					r.note("%s %q is not taken over: what is off stays off", rule.section, rule.pattern)
				}
			}
		}
		if len(allow) == 0 && len(deny) == 0 {
			continue
		}
		s.Entry.Allow = append(s.Entry.Allow, allow...)
		s.Entry.Deny = append(s.Entry.Deny, deny...)
		for _, rule := range agents {
			if rule.on && len(remainders(rule.pattern, prefix)) > 0 {
				r.note("%s %q is not taken over: what is off for all agents is off for this one too", rule.section, rule.pattern)
			}
		}
	}
}

// A toolSwitch is a pattern of opencode's for names of tools, and whether they are on.
type toolSwitch struct {
	section string // where it stands
	pattern string
	on      bool
}

// switches are those in a section of obj, in order.
func switches(obj *hujson.Object, section string) []toolSwitch {
	at := jsonc.Index(obj, section)
	if at < 0 {
		return nil
	}
	patterns, ok := obj.Members[at].Value.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	var all []toolSwitch
	for _, m := range patterns.Members {
		switch v, _ := jsonc.Decoded(m.Value); v {
		case true, "allow", "ask":
			all = append(all, toolSwitch{section, jsonc.Name(m), true})
		case false, "deny":
			all = append(all, toolSwitch{section, jsonc.Name(m), false})
		}
	}
	return all
}

// agentSwitches are those of single agents.
func agentSwitches(top *hujson.Object) []toolSwitch {
	at := jsonc.Index(top, "agent")
	if at < 0 {
		return nil
	}
	agents, ok := top.Members[at].Value.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	var all []toolSwitch
	for _, m := range agents.Members {
		if agent, ok := m.Value.Value.(*hujson.Object); ok {
			for _, section := range []string{"tools", "permission"} {
				for _, rule := range switches(agent, section) {
					rule.section = "agent." + jsonc.Name(m) + "." + section
					all = append(all, rule)
				}
			}
		}
	}
	return all
}

// remainders are globs that match what follows prefix in the names that begin with it and
// match pattern, in which * is any text and ? one character. None: no name matches.
func remainders(pattern, prefix string) []string {
	if len(pattern) > maxPattern || len(prefix) > maxPattern {
		return nil
	}
	at := make([]bool, len(pattern)+1) // places in the pattern that the text so far leads to
	at[0] = true
	for end := 0; ; end++ {
		for i := range len(pattern) { // a star may be empty
			at[i+1] = at[i+1] || at[i] && pattern[i] == '*'
		}
		if end == len(prefix) {
			break
		}
		next := make([]bool, len(at))
		for i := range len(pattern) {
			switch {
			case !at[i]:
			case pattern[i] == '*':
				next[i] = true
			case pattern[i] == '?' || pattern[i] == prefix[end]:
				next[i+1] = true
			}
		}
		at = next
	}
	var globs []string
	for i := range len(pattern) { // its end matches no name: a tool's is not empty
		if !at[i] || i > 0 && at[i-1] && pattern[i-1] == '*' { // or what the star matches too
			continue
		}
		if strings.Trim(pattern[i:], "*") == "" {
			return []string{"*"}
		}
		globs = append(globs, strings.NewReplacer(`\`, `\\`, "[", `\[`).Replace(pattern[i:]))
	}
	return globs
}
