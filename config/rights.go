package config

import (
	"regexp"
	"slices"
	"unicode"

	"github.com/tailscale/hujson"
)

// rightsSections are sections of proxySettings that say who may use what. They have no flag
// and no variable. The top level belongs to the hosts whose file this may be, one of which
// has an "agents" of its own; in proxySettings every slip is a mistake.
var rightsSections = []string{"agents", "scopes"}

// rightsKeys are the keys of one entry.
var rightsKeys = []string{"allow", "deny"}

// isScope is what a scope can be (RFC 6749, section 3.3).
var isScope = regexp.MustCompile(`^[\x21\x23-\x5B\x5D-\x7E]+$`).MatchString

// maxAgentBytes is the longest claim that names an agent, with the "jwt:" before it.
const maxAgentBytes = 255 + 4

// rightsSection reads agents or scopes.
func (r *reader) rightsSection(n node) {
	r.noNulls(n)
	members, _ := r.object(n)
	section := map[string]Rights{}
	for _, m := range members {
		switch {
		case m.key == "comment" || m.key == "_comment" || m.key == "//":
			continue
		case n.key == "agents" && !isAgentName(m.key):
			r.mistake(m.atKey(), "not the name of an agent: expected printable characters, at most 259 bytes", `"*" stands for all agents that are not named`)
		case n.key == "scopes" && m.key == "*":
			r.mistake(m.atKey(), `"*" is not a scope`, `write what every agent may use in agents, under "*"`)
		case n.key == "scopes" && !isScope(m.key):
			r.mistake(m.atKey(), "not a scope: a scope has no space and no quote, and is not empty", "write one entry for each scope")
		}
		section[m.key] = r.rightsOf(m)
	}
	if r.rights == nil {
		r.rights = map[string]map[string]Rights{}
	}
	r.rights[n.key] = section
}

// noNulls notes members of n that are null. Elsewhere that is "not set"; of what guards it
// might as well be meant as nothing.
func (r *reader) noNulls(n node, keys ...string) {
	object, _ := n.value.Value.(*hujson.Object)
	if object == nil {
		return
	}
	for _, m := range object.Members {
		key := m.Name.Value.(hujson.Literal).String()
		if m.Value.Value.Kind() == 'n' && (len(keys) == 0 || slices.Contains(keys, key)) {
			r.wrong(node{value: m.Value, path: pathTo(n.path, key), key: key, keyOffset: m.Name.StartOffset}, "something other than null", "leave the key out, or give it a value")
		}
	}
}

// rightsOf reads an entry.
func (r *reader) rightsOf(entry node) (rights Rights) {
	r.noNulls(entry)
	members, _ := r.object(entry)
	for _, n := range members {
		switch n.key {
		case "allow":
			rights.Allow = append([]string{}, r.globs(n)...)
		case "deny":
			rights.Deny = r.globs(n)
		case "comment", "_comment", "//":
		default:
			r.mistake(n.atKey(), "unknown key", didYouMean(n.key, rightsKeys))
		}
	}
	return rights
}

func isAgentName(s string) bool {
	for _, c := range s {
		if !unicode.IsPrint(c) {
			return false
		}
	}
	return s != "" && len(s) <= maxAgentBytes
}

const rightsPlace = `write it as "proxySettings": {"agents": {"alice": {"allow": ["fs_*"]}}}`

// misplacedRights notes a section of ours at the top level, where hosts have sections of
// their own with these names.
func (r *reader) misplacedRights(n node) {
	object, _ := n.value.Value.(*hujson.Object)
	if object == nil {
		return
	}
	for _, m := range object.Members {
		entry, _ := m.Value.Value.(*hujson.Object)
		if entry == nil {
			continue
		}
		for _, each := range entry.Members {
			if slices.Contains(rightsKeys, each.Name.Value.(hujson.Literal).String()) {
				r.mistake(n.atKey(), "it restricts nothing here", rightsPlace)
				return
			}
		}
	}
}
