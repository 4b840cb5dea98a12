package digest

import "bytes"

// A tagReader walks over tags without a tree: what is broken costs no more
// than a count.
type tagReader struct {
	data []byte
	i    int
	line int // of i
	t    *ticker
}

// next returns the text up to the next tag, and the tag: its name in lower case
// for HTML, and its attributes. A comment and the like has an empty name.
func (r *tagReader) next() (text []byte, name []byte, attrs []byte, closing, ok bool) {
	start := r.i
	for {
		j := bytes.IndexByte(r.data[r.i:], '<')
		if j < 0 {
			text = r.data[start:]
			r.i = len(r.data)
			return text, nil, nil, false, len(text) > 0
		}
		r.i += j
		if r.i+1 < len(r.data) && (isAlpha(r.data[r.i+1]) || at(r.data, r.i+1, "/!?_")) {
			break
		}
		r.i++
	}
	text = r.data[start:r.i]
	switch {
	case hasPrefix(r.data[r.i:], "<!--"):
		r.skip("-->")
		return text, nil, nil, false, true
	case hasPrefix(r.data[r.i:], "<![CDATA["):
		r.skip("]]>")
		return text, nil, nil, false, true
	case r.data[r.i+1] == '!' || r.data[r.i+1] == '?':
		r.skip(">")
		return text, nil, nil, false, true
	}
	from := r.i + 1
	closing = r.data[from] == '/'
	if closing {
		from++
	}
	to := from
	for to < len(r.data) && !isSpace(r.data[to]) && r.data[to] != '>' && r.data[to] != '/' {
		to++
	}
	end, quote := to, byte(0)
	for ; end < len(r.data); end++ {
		c := r.data[end]
		if quote != 0 {
			if c == quote {
				quote = 0
			}
		} else if c == '>' {
			break
		} else if (c == '"' || c == '\'') && end > 0 && r.data[end-1] == '=' {
			quote = c
		}
	}
	r.i = min(end+1, len(r.data))
	return text, r.data[from:to], r.data[to:end], closing, true
}

func (r *tagReader) skip(end string) {
	j := bytes.Index(r.data[r.i:], []byte(end))
	if j < 0 {
		r.i = len(r.data)
		return
	}
	r.i += j + len(end)
}

// lineOf counts line ends from the last position asked for.
func (r *tagReader) lineOf(pos, from int) int {
	return r.line + bytes.Count(r.data[from:pos], []byte("\n"))
}
