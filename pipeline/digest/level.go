package digest

import "bytes"

// A level of a line of a log, the worse the higher.
type level int

const (
	noLevel level = iota
	traceLevel
	debugLevel
	infoLevel
	noticeLevel
	warnLevel
	errorLevel
	fatalLevel
	numLevels
)

var levelNames = [numLevels]string{"no level", "TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "ERROR", "FATAL"}

// levelWords are in lower case.
var levelWords = map[string]level{
	"trace": traceLevel, "trc": traceLevel, "finest": traceLevel, "finer": traceLevel, "verbose": traceLevel, "silly": traceLevel,
	"debug": debugLevel, "dbg": debugLevel, "fine": debugLevel, "dbug": debugLevel,
	"info": infoLevel, "inf": infoLevel, "information": infoLevel, "informational": infoLevel, "log": infoLevel, "config": infoLevel,
	"notice": noticeLevel,
	"warn":   warnLevel, "warning": warnLevel, "wrn": warnLevel,
	"error": errorLevel, "err": errorLevel, "severe": errorLevel, "eror": errorLevel,
	"fatal": fatalLevel, "ftl": fatalLevel, "critical": fatalLevel, "crit": fatalLevel, "panic": fatalLevel, "alert": fatalLevel, "emerg": fatalLevel, "emergency": fatalLevel,
}

// letterLevels are those of logcat and klog: "E/Tag", " E ", "E0102 03:04:05".
var letterLevels = [256]level{'V': traceLevel, 'D': debugLevel, 'I': infoLevel, 'W': warnLevel, 'E': errorLevel, 'F': fatalLevel}

const (
	levelReach = 160 // bytes of a line in which its level may stand
	levelReads = 9   // words among which it may be
)

// levelOf finds the level that a line states, from on: a word in capitals, or one
// that is labelled, in brackets or the first.
func levelOf(line []byte, from int) level {
	l, _, _ := findLevel(line, from)
	return l
}

// findLevel is levelOf, and where the word stands.
func findLevel(line []byte, from int) (l level, start, end int) {
	if digitsAt(line, 1) == 4 && letterLevels[line[0]] != noLevel {
		return letterLevels[line[0]], 0, 1
	}
	line = head(line, from+levelReach)
	for i, n := from, 0; i < len(line) && n < levelReads; {
		if line[i] == 0x1b {
			i = max(skipColour(line, i), i+1)
			continue
		}
		start := i
		for i < len(line) && isLetter(line[i]) {
			i++
		}
		if i == start {
			i++
			continue
		}
		n++
		if l := levelAt(line, start, i, n); l != noLevel {
			return l, start, i
		}
	}
	return noLevel, 0, 0
}

// levelAt is the level that the word line[start:end] states, which is the n-th.
func levelAt(line []byte, start, end, n int) level {
	before, after := byteAt(line, start-1), byteAt(line, end)
	if end-start == 1 {
		if before == ' ' && after == ' ' || before == '[' && after == ']' || (before == ' ' || before == 0) && after == '/' {
			return letterLevels[line[start]]
		}
		return noLevel
	}
	l := levelWord(line[start:end])
	if l == noLevel || before == '_' || after == '_' || isDigit(after) {
		return noLevel
	}
	switch {
	case before == '=', before == '"' && isOneOf(byteAt(line, start-2), "=:"), before == ':' && byteAt(line, start-2) > ' ': // level=error, "level":"error", x:ERROR:
	case isUpper(line[start]) && isUpper(line[end-1]) && (after == 0 || isOneOf(after, " :]|\t)!>-,\x1b")):
	case (isOneOf(before, "[<(") || after == ']') && after != ' ' && before != ' ':
	case n == 1 && after == ':', n <= 2 && after == ':' && l != infoLevel, n == 1 && after == ' ' && !isUpper(line[start]) && l != infoLevel: // "error: …", "npm warn: …", "error …"
	default:
		return noLevel
	}
	return l
}

// levelWord is the level that a word stands for in any case.
func levelWord(word []byte) level {
	var lower [14]byte // longer than any of levelWords
	if len(word) < 3 || len(word) >= len(lower) {
		return noLevel
	}
	for i, c := range word {
		lower[i] = c | 0x20
	}
	return levelWords[string(lower[:len(word)])]
}

// startsWithLevel: "ERROR: …", "[warn] …", "npm ERR! …", "INFO:root:…".
func startsWithLevel(line []byte) bool {
	t := bytes.TrimLeft(line, "[<(* \t")
	npm := hasPrefix(t, "npm ")
	if npm {
		t = t[len("npm "):]
	}
	end := len(wordAt(t))
	after := byteAt(t, end)
	return levelWord(t[:end]) != noLevel && (npm || after != 0 && isOneOf(after, ":]>)\t|-!") || after == ' ' && isUpper(t[0]))
}

// badWords are those of a failure, in a line that states no level.
var badWords = []string{"error", "exception", "fail", "fatal", "panic", "denied", "refused", "timed out", "traceback"}

// soundsBad reports such a word, in any case.
func soundsBad(line []byte) bool {
	line = bytes.ToLower(head(line, 1000))
	for _, w := range badWords {
		if contains(line, w) {
			return true
		}
	}
	return false
}
