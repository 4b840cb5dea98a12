package digest

import "bytes"

// Entry returns a function that reports whether a line begins another entry of
// a text of this [Kind]: a line of a log with a time or a level, a hunk of a
// diff, a commit, a key or item at the margin of YAML, a section of settings.
// What follows up to the next one belongs to the entry: the stack trace under
// its error. It is nil for kinds whose text has no entries, such as prose and
// source code. The line is without its newline.
func Entry(kind string) func(line []byte) bool {
	switch kind {
	case "log", "access log":
		return func(line []byte) bool {
			if _, _, ok := stamp(line); ok {
				return true
			}
			t := bytes.TrimSpace(line)
			return len(t) > 0 && (startsWithLevel(t) || isLogfmt(line))
		}
	case "stack trace":
		return traceOpener
	case "diff":
		return func(line []byte) bool { return hasPrefix(line, "diff ") || hasPrefix(line, "@@ ") }
	case "git log":
		return isCommit
	case "INI", "TOML":
		return func(line []byte) bool { return hasPrefix(line, "[") }
	case "YAML":
		return func(line []byte) bool { return len(line) > 0 && bytes.IndexByte([]byte(" \t#]}\r"), line[0]) < 0 }
	case "file list", "matches", "JSON Lines and text":
		return func(line []byte) bool { return len(line) > 0 }
	}
	return nil
}
