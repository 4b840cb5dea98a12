package digest

import (
	"bytes"
	"fmt"

	"rlmproxy/pipeline/show"
)

// digestINI lists the sections with their keys.
func digestINI(d *Digest, data []byte, t *ticker) error {
	p := Part{Title: "sections", Even: true}
	keys := Part{Title: "keys", Even: true}
	n, in := 0, 0
	end := func() {
		if len(p.Rows) > 0 && len(p.Rows) == p.Total {
			p.Rows[len(p.Rows)-1].words += fmt.Sprintf("  %s", show.Plural(in, "keys"))
		}
		in = 0
	}
	for line := range bytes.Lines(data) {
		if err := t.err(); err != nil {
			return err
		}
		s := bytes.TrimSpace(line[:min(len(line), 500)])
		switch {
		case len(s) == 0 || s[0] == '#' || s[0] == ';':
		case s[0] == '[' && line[0] == '[' && iniSection().Match(s):
			end()
			p.addf(n, 0, "%s", s)
		case isAlpha(s[0]) || s[0] == '_' || s[0] == '"':
			if i := bytes.IndexByte(s, '='); i > 0 {
				in++
				if p.Total == 0 {
					keys.addLine(n, s, 1)
				}
			}
		}
		n++
	}
	end()
	d.Parts = append(d.Parts, p, keys)
	return nil
}
