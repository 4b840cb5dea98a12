package digest

import (
	"bytes"
	"strings"

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

// isFileList wants a path on every line.
func isFileList(s *sample) bool {
	n := s.count(isPath)
	return n > 4 && s.most(n, 90)
}

// pathMarks are those of the file system server's list_directory.
var pathMarks = []string{"[FILE] ", "[DIR] "}

// isPath reports a line that is the path of a file, marked perhaps.
func isPath(line []byte) bool {
	line = bytes.TrimSpace(line)
	return hasAnyPrefix(line, pathMarks) || len(line) > 2 && bytes.IndexByte(line, '/') >= 0 && bytes.IndexByte(line, ' ') < 0 && !contains(line, "://")
}

// pathOf is the path without its mark.
func pathOf(line []byte) string {
	path := string(bytes.TrimSpace(head(line, 1000)))
	for _, mark := range pathMarks {
		path = strings.TrimPrefix(path, mark)
	}
	return path
}

// readFileList counts files by folder and by the ends of their names.
func readFileList(d *Digest, r *reader) {
	prefix := "" // what all folders have in common
	for n, line := range r.lines {
		path := pathOf(line)
		folder := path[:strings.LastIndexByte(path, '/')+1]
		if n == 0 {
			prefix = folder
		}
		for !strings.HasPrefix(folder, prefix) {
			prefix = prefix[:strings.LastIndexByte(prefix[:len(prefix)-1], '/')+1]
		}
	}
	var folders, extensions tally
	for n, line := range r.lines {
		path := strings.TrimPrefix(pathOf(line), prefix)
		if i := strings.IndexByte(path, '/'); i > 0 {
			folders.add([]byte(path[:i+1]), n)
		}
		base := path[strings.LastIndexByte(path, '/')+1:]
		if i := strings.LastIndexByte(base, '.'); i > 0 && len(base)-i < 12 {
			extensions.add([]byte(base[i:]), n)
		}
	}
	if len(prefix) > 1 {
		d.say("all under %s", show.Clip(prefix, 200))
	}
	if len(extensions.order) > 0 {
		d.say("names end in: %s", extensions.top(12, ", "))
	}
	d.Parts = append(d.Parts, folders.part("folders"))
}
