package digest

import "bytes"

// Class is the kind of reader's text that text is: "source", "markdown", "config", "diff",
// "matches", "html", "table", "log" or "prose". It is "" if none of them is certain.
func Class(text []byte) string {
	switch name := Kind(text); name {
	case "source", "diff", "matches", "log":
		return name
	case "Markdown":
		return "markdown"
	case "YAML", "configuration":
		return "config"
	case "HTML", "XML":
		return "html"
	case "CSV", "TSV":
		return "table"
	case "plain text":
		if isProse(newSample(text)) {
			return "prose"
		}
	case "git log":
		if bytes.Contains(text, []byte("\n@@ -")) {
			return "diff"
		}
	}
	return ""
}

// isProse wants lines of words without columns, and among them ends of sentences.
func isProse(s *sample) bool {
	words, ends := 0, 0
	for _, line := range s.lines {
		line = bytes.TrimSpace(line)
		if bytes.Count(line, []byte(" ")) >= 5 && !bytes.Contains(line, []byte("  ")) {
			words++
		}
		ends += btoi(bytes.HasSuffix(line, []byte(".")) || bytes.Contains(line, []byte(". ")))
	}
	return s.most(words, 60) && s.most(ends, 15)
}
