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
	"error": errorLevel, "err": errorLevel, "err!": errorLevel, "severe": errorLevel, "eror": errorLevel,
	"fatal": fatalLevel, "ftl": fatalLevel, "critical": fatalLevel, "crit": fatalLevel, "panic": fatalLevel, "alert": fatalLevel, "emerg": fatalLevel, "emergency": fatalLevel,
}

const (
	levelReach = 160 // bytes of a line in which its level may stand
	levelWord  = 14  // bytes of the longest of levelWords, and one
)

// levelOf finds the level that a line states, from on. A word in capitals is
// one anywhere in the head; in lower case only where it is labelled or bracketed
// or starts the message. as is how it is spelt, with what shows it to be one.
func levelOf(line []byte, from int) (l level, as []byte) {
	line = line[:min(len(line), from+levelReach)]
	words := 0
	for i := from; i < len(line); {
		if line[i] == 0x1b {
			i = max(skipColour(line, i), i+1)
			continue
		}
		if !isAlpha(line[i]) {
			i++
			continue
		}
		start, upper := i, 0
		for i < len(line) && isAlpha(line[i]) {
			if line[i] < 'a' {
				upper++
			}
			i++
		}
		end := i
		if words++; words > 9 {
			return noLevel, nil
		}
		if end-start == 1 { // " E ", "[E]", "E/Tag"
			if l := letterLevel(line, start); l != noLevel && words < 4 {
				return l, line[max(start-1, 0):min(end+1, len(line))]
			}
			continue
		}
		if end-start < 3 || end-start > levelWord || isDigit(byteAt(line, end)) || byteAt(line, end) == '_' || byteAt(line, start-1) == '_' {
			continue
		}
		l := levelWords[string(bytes.ToLower(line[start:end]))]
		if l == noLevel {
			continue
		}
		before, after := byteAt(line, start-1), byteAt(line, end)
		bracketed := (before == '[' || before == '<' || before == '(') || after == ']'
		labelled := before == '=' || before == '"' && start > 2 && (line[start-2] == '=' || line[start-2] == ':') || before == ':' && byteAt(line, start-2) > ' '
		switch {
		case labelled:
			key := start
			for key > from && line[key-1] != ' ' && line[key-1] != ',' && line[key-1] != '{' {
				key--
			}
			return l, line[key:end]
		case upper == end-start && (after == ' ' || after == ':' || after == ']' || after == '|' || after == 0 || after == '\t' || after == ')' || after == '!' || after == '>' || after == 0x1b || after == '-' || after == ','):
			if bracketed {
				return l, line[start-btoi(before == '[') : end+btoi(after == ']')]
			}
			return l, line[start:end]
		case bracketed && after != ' ' && before != ' ':
			return l, line[max(start-1, 0):min(end+1, len(line))]
		case words <= 2 && (after == ':' || after == ' ' && words == 1 && (before == ' ' || start == from) && upper == 0) && l != infoLevel || words == 1 && after == ':':
			return l, line[start:min(end+1, len(line))]
		}
	}
	return noLevel, nil
}

func letterLevel(line []byte, i int) level {
	before, after := byteAt(line, i-1), byteAt(line, i+1)
	if !(before == ' ' && after == ' ' || before == '[' && after == ']' || (before == ' ' || before == 0) && after == '/') {
		return noLevel
	}
	switch line[i] {
	case 'E':
		return errorLevel
	case 'W':
		return warnLevel
	case 'I':
		return infoLevel
	case 'D':
		return debugLevel
	case 'V':
		return traceLevel
	case 'F':
		return fatalLevel
	}
	return noLevel
}

// letterPrefix is the level of I0102 03:04:05, where it starts the line.
func letterPrefix(line []byte) level {
	if len(line) < 6 || digitsAt(line, 1) != 4 {
		return noLevel
	}
	switch line[0] {
	case 'E':
		return errorLevel
	case 'W':
		return warnLevel
	case 'I':
		return infoLevel
	case 'F':
		return fatalLevel
	}
	return noLevel
}

// badWords is a pattern for the words that [soundsBad] knows.
const badWords = "error|exception|fail|fatal|panic|denied|refused|timed out|traceback"

// soundsBad reports a word for a failure in a line that states no level.
func soundsBad(line []byte) bool {
	for i := 0; i+4 <= len(line); i++ {
		switch line[i] | 0x20 {
		case 'e':
			if foldPrefix(line[i:], "error") || foldPrefix(line[i:], "exception") {
				return true
			}
		case 'f':
			if foldPrefix(line[i:], "fail") || foldPrefix(line[i:], "fatal") {
				return true
			}
		case 'p':
			if foldPrefix(line[i:], "panic") {
				return true
			}
		case 'd':
			if foldPrefix(line[i:], "denied") {
				return true
			}
		case 't':
			if foldPrefix(line[i:], "timed out") || foldPrefix(line[i:], "traceback") {
				return true
			}
		case 'r':
			if foldPrefix(line[i:], "refused") {
				return true
			}
		}
	}
	return false
}

// status is the class of an access log's status, behind the quoted request.
func status(line []byte) (class int, from int) {
	for i := 0; i+5 < len(line); i++ {
		if line[i] == '"' && line[i+1] == ' ' && digitsAt(line, i+2) == 3 && line[i+2] >= '1' && line[i+2] <= '5' && (i+5 == len(line) || line[i+5] == ' ' || line[i+5] == '\n' || line[i+5] == '\r') {
			return int(line[i+2] - '0'), i + 2
		}
	}
	return 0, 0
}
