package config

import (
	"fmt"
	"path"
	"strings"

	"github.com/tailscale/hujson"
)

// A reader takes typed values out of a document, noting every mistake and
// going on.
type reader struct {
	doc      document
	mistakes ErrorList
	noted    int // grows with each mistake, kept or not
	warnings []string
	// settingAt is where proxySettings has each setting that it has.
	settingAt map[string]node
	// subModelAt is where proxySettings has the sub-model, which is read when it is known
	// where secrets are. Nil: it has none.
	subModelAt *node
	subModel   *SubModel
	// rights are those of the sections agents and scopes.
	rights map[string]map[string]Rights
}

// A node is one value of the document.
type node struct {
	value     hujson.Value
	path      string // mcpServers.git.args[1]
	key       string // of a member of an object
	keyOffset int
	secret    bool // its text must not be shown
}

// secretKeys hold values that are never shown.
var secretKeys = map[string]bool{"env": true, "headers": true, "httpTokens": true, "metricsToken": true, "uiToken": true, "fleetKey": true, "cacheURL": true, "registryURL": true, "clientSecret": true, "CLIENT_SECRET": true}

func (n node) literal() hujson.Literal {
	lit, _ := n.value.Value.(hujson.Literal)
	return lit
}

func (n node) kind() hujson.Kind { return n.value.Value.Kind() }

// atKey is n with the place of its key, for what is wrong with that.
func (n node) atKey() node {
	n.value.StartOffset = n.keyOffset
	return n
}

// ofParent is atKey without the key in its path, for a key that is not to be shown.
func (n node) ofParent() node {
	n.path = strings.TrimSuffix(n.path, "."+shownKey(n.key))
	return n.atKey()
}

// found says what stands at n, for "found …".
func (n node) found() string {
	kind := map[hujson.Kind]string{
		'{': "an object", '[': "an array", 'n': "null", 't': "true", 'f': "false", '"': "a string", '0': "a number",
	}[n.kind()]
	lit := n.literal()
	switch {
	case n.secret:
	case n.kind() == '"':
		return preview(lit.String())
	case n.kind() == '0' && len(lit) > maxPreview:
		return string(lit[:maxPreview]) + "…"
	case n.kind() == '0':
		return string(lit)
	}
	return kind
}

// wrong notes that n is not what it should be.
func (r *reader) wrong(n node, want, hint string) {
	r.mistake(n, "expected "+want+", found "+n.found(), hint)
}

// noneOf notes that n is none of known.
func (r *reader) noneOf(n node, known []string) {
	r.wrong(n, "one of "+strings.Join(known, ", "), didYouMean(n.literal().String(), known))
}

// maxKept bounds mistakes, and warnings. To place one takes time in the
// size of the file, and a generated file can have one in every value.
const maxKept = 200

// mistake notes what is wrong at the place of n.
func (r *reader) mistake(n node, text, hint string) {
	r.noted++
	if len(r.mistakes) < maxKept {
		r.mistakes = append(r.mistakes, r.placed(n, text, hint))
	}
}

// warn notes what is odd at the place of n, but stops nothing.
func (r *reader) warn(n node, text, hint string) {
	if len(r.warnings) < maxKept {
		r.warnings = append(r.warnings, r.placed(n, text, hint).Error())
	}
}

func (r *reader) placed(n node, text, hint string) Mistake {
	m := r.doc.mistake(n.value.StartOffset, text)
	m.Key, m.Hint = n.path, hint
	return m
}

// object lists the members of n in the file's order, without those whose
// value is null: hosts write null for "not set". A key's second occurrence
// is a mistake. ok is false when n is no object.
func (r *reader) object(n node) (members []node, ok bool) {
	obj, ok := n.value.Value.(*hujson.Object)
	if !ok {
		r.wrong(n, "an object", "")
		return nil, false
	}
	first := map[string]int{} // offset of each key
	for _, m := range obj.Members {
		key := m.Name.Value.(hujson.Literal).String()
		member := node{m.Value, pathTo(n.path, key), key, m.Name.StartOffset, n.secret || secretKeys[key]}
		if offset, seen := first[key]; seen {
			r.noted++
			if len(r.mistakes) < maxKept {
				line, _ := r.doc.position(offset)
				r.mistake(member.atKey(), fmt.Sprintf("the key is there twice, first on line %d", line), "")
			}
			continue
		}
		first[key] = m.Name.StartOffset
		if member.kind() != 'n' {
			members = append(members, member)
		}
	}
	return members, true
}

// elements are those of n, and none if it is no array.
func (n node) elements() []node {
	var list []node
	if array, ok := n.value.Value.(*hujson.Array); ok {
		for i, v := range array.Elements {
			list = append(list, node{value: v, path: fmt.Sprintf("%s[%d]", n.path, i), secret: n.secret})
		}
	}
	return list
}

// text is the string n, or "" with a mistake noted.
func (r *reader) text(n node) string {
	switch {
	case n.kind() == '"':
		return n.literal().String()
	case n.literal() == nil:
		r.wrong(n, "a string", "")
	default:
		r.wrong(n, "a string in quotes", "")
	}
	return ""
}

// texts are the strings of the array n.
func (r *reader) texts(n node) []string {
	switch n.kind() {
	case '[':
	case '"':
		r.wrong(n, "an array of strings", `write it in brackets: ["one", "two"]`)
	default:
		r.wrong(n, "an array of strings", "")
	}
	var list []string
	for _, each := range n.elements() {
		list = append(list, r.text(each))
	}
	return list
}

// textMap is the object n with values that are all strings. check sees each member.
func (r *reader) textMap(n node, check func(node)) map[string]string {
	members, _ := r.object(n)
	if len(members) == 0 {
		return nil
	}
	m := map[string]string{}
	for _, each := range members {
		check(each)
		m[each.key] = r.text(each)
	}
	return m
}

const globHint = `* stands for any text, ? for one character, [a-z] for a range, \[ for a bracket`

// globs are the patterns over tool names in the array n.
func (r *reader) globs(n node) []string {
	list := r.texts(n)
	for i, each := range n.elements() {
		if each.kind() == '"' {
			r.checkGlob(each, list[i])
		}
	}
	return list
}

// checkGlob notes a pattern that no name can match.
func (r *reader) checkGlob(n node, glob string) {
	if _, err := path.Match(glob, ""); err != nil {
		r.mistake(n, "not a glob: "+preview(glob), globHint)
	} else if glob == "" {
		r.mistake(n, "an empty glob, which no name matches", globHint)
	}
}

// truth is true or false, and nil when a mistake was noted.
func (r *reader) truth(n node) *bool {
	if n.kind() == 't' || n.kind() == 'f' {
		return new(n.literal().Bool())
	}
	r.wrong(n, "true or false", "")
	return nil
}

// whole is the whole number n, from least to most, or 0 with a mistake noted.
func (r *reader) whole(n node, least, most int64) int {
	value, _ := r.parsed(n, whole(least, most), false).(int64)
	return int(value)
}

// parsed is n as parse reads it. Numbers count, and strings too where
// quoted says so. It is nil when a mistake was noted.
func (r *reader) parsed(n node, parse parser, quoted bool) any {
	text := string(n.literal())
	if n.kind() == '"' && quoted {
		text = n.literal().String()
	} else if n.kind() == '"' || n.literal() == nil {
		text = "\x00" // no parser accepts it, and all say what they want
	}
	value, want := parse(text)
	if want != "" {
		r.wrong(n, want, "")
		return nil
	}
	return value
}
