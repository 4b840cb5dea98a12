package digest

import (
	"bytes"
	"fmt"
	"strings"

	"rlmproxy/pipeline/show"
)

// A configLine is a line of a configuration.
type configLine struct {
	what       configWhat
	key, value []byte // of a setting, in a comment or not
}

type configWhat int

const (
	otherLine configWhat = iota
	blankLine
	commentLine
	ruleLine // a comment of dashes
	sectionLine
	settingLine
	offLine // a setting in a comment
)

// configLineOf reads "[section]", "key = value", "#key = value" and other comments; of a
// spaced configuration "Key value" and "#Key value".
func configLineOf(line []byte, spaced bool) configLine {
	t := bytes.TrimSpace(head(line, 1000))
	switch {
	case len(t) == 0:
		return configLine{what: blankLine}
	case isOneOf(t[0], "#;"):
		text := t[1:]
		if words := bytes.TrimSpace(text); len(words) > 4 && len(bytes.Trim(words, string(words[:1]))) == 0 {
			return configLine{what: ruleLine}
		} else if !spaced {
			text = bytes.TrimPrefix(text, []byte(" "))
		}
		if key, value := splitSetting(text, spaced); key != nil {
			return configLine{offLine, key, value}
		}
		return configLine{what: commentLine}
	case t[0] == '[' && lastByte(withoutComment(t)) == ']':
		return configLine{what: sectionLine, key: t}
	}
	if key, value := splitSetting(bytes.TrimPrefix(t, []byte("export ")), spaced); key != nil {
		return configLine{settingLine, key, value}
	}
	return configLine{}
}

// splitSetting returns the key and the value that s is, without a comment behind them, and
// nothing of what is code or prose.
func splitSetting(s []byte, spaced bool) (key, value []byte) {
	n := 0
	for n < len(s) && (isWord(s[n]) || isOneOf(s[n], "._-/")) {
		n++
	}
	if n == 0 || n > 100 || isDigit(s[0]) || isOneOf(s[0], ".-/") {
		return nil, nil
	}
	value = bytes.TrimLeft(s[n:], " \t")
	if i := bytes.IndexAny(value, "#;"); i > 0 && isOneOf(value[i-1], " \t") {
		value = value[:i]
	}
	value = bytes.TrimRight(value, " \t")
	if spaced {
		words := len(bytes.Fields(value))
		if words == 0 || words > 4 || isOneOf(lastByte(value), ".,:;{()") || bytes.ContainsAny(value, "=$|`") {
			return nil, nil
		}
		return s[:n], value
	}
	if byteAt(value, 0) != '=' || isOneOf(byteAt(value, 1), "=>~") {
		return nil, nil
	}
	value = bytes.TrimSpace(value[1:])
	if call := wordAt(value); isOneOf(lastByte(value), "{(,;") || len(call) > 0 && byteAt(value, len(call)) == '(' {
		return nil, nil
	}
	return s[:n], value
}

// isConfig wants settings and comments, or settings in sections, and nothing else. Prose
// under # headings, code, and settings between fences are no configuration.
func isConfig(s *sample) bool { return isConfigOf(s, false) || isConfigOf(s, true) }

func isConfigOf(s *sample, spaced bool) bool {
	var counts [offLine + 1]int
	inArray, arrays := false, 0
	for _, line := range s.lines {
		if inArray {
			inArray = byteAt(bytes.TrimSpace(line), 0) != ']'
			continue
		}
		l := configLineOf(line, spaced)
		if below := isIndented(line) && counts[sectionLine] == 0; l.what == settingLine && below || l.what == otherLine && (below || !isIndented(line)) {
			l.what = otherLine // code of Markdown, a line of a script
		} else if l.what == otherLine {
			l.what = blankLine // goes on with a value
		}
		if counts[l.what]++; l.what == settingLine && lastByte(l.value) == '[' { // of TOML
			inArray = true
			arrays++
		}
	}
	set, off, sections := counts[settingLine], counts[offLine], counts[sectionLine]
	switch {
	case 50*counts[otherLine] > s.full, set+off < 3, set+sections == 0 && 10*off < s.full, arrays > 0 && sections == 0:
		return false
	case spaced:
		return set > 0 && off > 2
	}
	return sections > 0 || off+counts[commentLine] > 0
}

const (
	maxConfigKeys = 10_000 // looked at for those that are set twice
	maxPlaces     = 8      // shown of one
)

// readConfig tells what is set, what twice, and the sections.
func readConfig(d *Digest, r *reader) {
	spaced := !isConfigOf(newSample(r.data), false)
	twice := Part{Title: "set more than once, line and value", Share: 30}
	sections := Part{Title: "sections", Share: 25, Even: true}
	settings := Part{Title: "settings that are set", Even: true}
	places := map[string][]string{} // of a key in its section, and the values
	var repeated []string
	section, off := "", 0
	lines := 0
	var above [2]configWhat
	var title Line
	for n, line := range r.lines {
		l := configLineOf(line, spaced)
		switch l.what {
		case sectionLine:
			section = string(l.key)
			if hasPrefix(l.key, "[[") { // each is another element of a list
				section = fmt.Sprint(n)
			}
			sections.addLine(n, line, 0)
		case ruleLine:
			if n > 2 && above == [2]configWhat{ruleLine, commentLine} { // "FILE LOCATIONS" between lines
				sections.addLine(title.N, title.Text, 0)
			}
		case offLine:
			off++
		case settingLine:
			settings.addLine(n, line, 0)
			key := section + "\x00" + string(l.key)
			if known := len(places[key]); known > 0 && known < maxPlaces || known == 0 && len(places) < maxConfigKeys {
				places[key] = append(places[key], fmt.Sprintf("%d = %s", n+1, show.Clip(string(l.value), 40)))
				if known == 1 {
					repeated = append(repeated, key)
				}
			}
		}
		lines++
		above, title = [2]configWhat{above[1], l.what}, Line{n, line}
	}
	for _, key := range repeated {
		_, name, _ := strings.Cut(key, "\x00")
		twice.addf(-1, 0, "%s: %s", show.Clip(name, 60), show.Clip(strings.Join(places[key], " · "), 200))
	}
	d.Facts = append(d.Facts, show.Plural(settings.Total, "settings"))
	if off > 0 {
		d.factf("%s in comments", show.Count(off))
	}
	if sections.Total > 0 {
		d.Facts = append(d.Facts, show.Plural(sections.Total, "sections"))
	}
	for _, p := range []Part{twice, sections} {
		if p.Total > 0 {
			d.Parts = append(d.Parts, p)
		}
	}
	if settings.Total > 0 && 2*settings.Total < lines { // else head and tail are settings
		d.EndLines = 4
		d.Parts = append(d.Parts, settings)
	}
}
