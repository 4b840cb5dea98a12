package scan

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A Name is that of a tool of a server.
type Name struct{ Server, Tool string }

// alike maps letters to the ASCII letter that they look like: the ones of Cyrillic and
// Greek that fonts draw the same, and what is hard to tell apart in ASCII.
var alike = func() map[rune]rune {
	m := map[rune]rune{'I': 'l', '1': 'l', '|': 'l', '0': 'O'}
	for _, pair := range strings.Fields("аa вB еe ѕs іl јj кk мM нH оo рp сc тT уy хx ԁd ԛq ԝw һh АA ВB ЕE ЅS Іl ЈJ КK МM НH ОO РP СC ТT УY ХX ΑA ΒB ΕE ΖZ ΗH Ιl ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX οo νv αa ιi κk ρp ıi") {
		r := []rune(pair)
		m[r[0]] = r[1]
	}
	return m
}()

// skeleton is the same for names that look the same.
func skeleton(name string) string {
	s := strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		if a, ok := alike[r]; ok {
			return a
		}
		return r
	}, norm.NFKC.String(name))
	return strings.NewReplacer("rn", "m", "vv", "w").Replace(s)
}

// LookAlikes returns what is odd in the names of tools, by server and tool: a name that
// looks like another one of another server, and one whose letters are of several
// scripts. Where two look alike, the later one is named.
func LookAlikes(names []Name) map[Name][]Finding {
	found := map[Name][]Finding{}
	first := map[string]Name{}
	for _, n := range names {
		if what := mixed(n.Tool); what != "" {
			found[n] = append(found[n], Finding{"name", what})
		}
		s := skeleton(n.Tool)
		other, seen := first[s]
		switch {
		case !seen:
			first[s] = n
		case other.Server != n.Server && other.Tool != n.Tool:
			found[n] = append(found[n], Finding{"name", fmt.Sprintf("looks like %s of server %s", Line(other.Tool), Line(other.Server))})
		}
	}
	return found
}

// mixed says which letter of a name is not of the script of the others, or "".
func mixed(name string) string {
	latin, other := false, rune(0)
	for _, r := range name {
		switch {
		case unicode.Is(unicode.Latin, r):
			latin = true
		case unicode.IsLetter(r) && other == 0:
			other = r
		}
	}
	if latin && other != 0 {
		return fmt.Sprintf("mixes Latin letters with U+%04X %c", other, other)
	}
	return ""
}
