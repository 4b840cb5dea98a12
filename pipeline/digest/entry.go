package digest

// What package records reads of the lines of a log, as the digest of one does.

// TimeIn finds the time at the begin of a line of a log.
func TimeIn(line []byte) (from, to int, ok bool) { return timestamp(line) }

// LevelIn finds the word for a level in a line of a log, from on.
func LevelIn(line []byte, from int) (start, end int, ok bool) {
	l, start, end := findLevel(line, from)
	return start, end, l != noLevel
}

// StartsWithLevel reports a line such as "ERROR: …" or "[warn] …".
func StartsWithLevel(line []byte) bool { return startsWithLevel(line) }

// InsideEntry reports a line that belongs to the entry above it: indented, of a stack
// trace, or a bracket that closes.
func InsideEntry(line []byte) bool {
	return isIndented(line) || isFrame(line) || startsTrace(line) || len(line) > 0 && isOneOf(line[0], "}])")
}
