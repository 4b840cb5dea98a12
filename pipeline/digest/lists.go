package digest

import (
	"bytes"

	"rlmproxy/pipeline/show"
)

var match = lazy(`^[^\s:]*[/.][^\s:]*:\d+(:\d+)?(:|-| )`)

// isMatches wants what grep and compilers print: file, line, text.
func isMatches(s *sample) bool {
	n := s.count(match().Match)
	return n > 1 && s.most(n, 60)
}

// readMatches counts what was found by file.
func readMatches(d *Digest, r *reader) {
	var files tally
	for n, line := range r.lines {
		if name, rest, _ := bytes.Cut(head(line, 1000), []byte(":")); digitsAt(rest, 0) > 0 {
			files.add(name, n)
		}
	}
	d.Facts = append(d.Facts, show.Plural(len(files.order), "files"))
	d.Parts = append(d.Parts, files.part("files"))
}

// isFileList wants a path on every line, or a name with a mark as the file system
// server's list_directory has it.
func isFileList(s *sample) bool {
	n := s.count(func(line []byte) bool {
		line = bytes.TrimSpace(line)
		return hasPrefix(line, "[FILE] ") || hasPrefix(line, "[DIR] ") || len(line) > 2 && !bytes.ContainsAny(line, " <>") && bytes.IndexByte(line, '/') >= 0 && !contains(line, "://")
	})
	return n > 4 && s.most(n, 90)
}

// readFileList counts files by folder and by the ends of their names.
func readFileList(d *Digest, r *reader) {
	var folders, extensions tally
	for n, line := range r.lines {
		path := bytes.TrimSpace(head(line, 1000))
		slash := bytes.LastIndexByte(path, '/')
		if slash >= 0 {
			folders.add(path[:slash+1], n)
		}
		if dot := bytes.LastIndexByte(path, '.'); dot > slash+1 && len(path)-dot < 12 {
			extensions.add(path[dot:], n)
		}
	}
	if len(extensions.order) > 0 {
		d.addWords("names end in: %s", extensions.top(12, ", "))
	}
	d.Parts = append(d.Parts, folders.part("folders"))
}
