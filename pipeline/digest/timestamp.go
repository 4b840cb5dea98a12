package digest

// layouts are the dates and times that logs write: 0 is a digit, A a capital, a
// a small letter, the rest is itself. Seconds, their fraction and the zone may
// follow. Longer ones come before those that they begin with.
var layouts = []string{
	"0000-00-00T00:00", "0000-00-00 00:00", "0000-00-00_00:00", "0000-00-00-00:00", "0000/00/00 00:00", "0000-00-00 0:00", "0000/00/00 0:00",
	"00/Aaa/0000:00:00", "00-Aaa-0000 00:00", "00 Aaa 0000 00:00", "00/Aaa/0000 00:00",
	"00.00.0000 00:00", "00/00/0000 00:00", "00-00-0000 00:00", "00/00/0000, 00:00", "00/00/0000, 0:00",
	"00-00 00:00", "00/00 00:00", "00/00/00 00:00", "00-00-00 00:00",
	"Aaa 00 0000 00:00", "Aaa 00, 0000 00:00", "Aaa 00, 0000 0:00", "Aaa 00 00:00", "Aaa  0 00:00",
	"Aaa Aaa 00 00:00", "Aaa Aaa  0 00:00", "Aaa, 00 Aaa 0000 00:00",
	"A0000 00:00", // klog: the level, month and day
}

const (
	timeReach = 100 // bytes of a line in which its time may begin
	timeWords = 3   // words that may stand before it, with a bracket behind the last
)

// timestamp finds the time at the begin of a line of a log, behind a bracket, a
// key, a level, a container's name or the addresses of an access log.
func timestamp(line []byte) (from, to int, ok bool) {
	line = head(line, timeReach+60)
	words := 0
	for i := 0; i < min(len(line), timeReach) && words <= timeWords; i++ {
		i = skipColour(line, i)
		before := byteAt(line, i-1)
		if i == 0 || isOneOf(before, " [(\"=<>|\tm") && (words < timeWords || before == '[') {
			if end := timeAt(line, i, before != ' '); end > i {
				return i, end, true
			}
		}
		if byteAt(line, i) == ' ' && before != ' ' {
			words++
		}
	}
	return 0, 0, false
}

// timeAt returns the end of the date and time at i, or i. A date alone is none,
// and neither are hours and minutes alone, as in "12:30 lunch". Without a date, it
// must be the first that stands in the line or in brackets.
func timeAt(line []byte, i int, first bool) int {
	c := byteAt(line, i)
	if !isDigit(c) && !isUpper(c) {
		return i
	}
	for _, layout := range layouts {
		if fits(line, i, layout) {
			return timeEnd(line, i+len(layout))
		}
	}
	digits := digitsAt(line, i)
	switch end := i + digits; {
	case !first && i > timeWords*3:
	case digits < 3 && digits > 0 && fits(line, end, ":00:00"):
		return timeEnd(line, end+len(":00"))
	case (digits == 10 || digits >= 13 && digits < 20) && c <= '2' && isOneOf(byteAt(line, end), ". ]"): // since 1970
		return end + fraction(line, end)
	case digits > 0 && digits < 8 && digitsAt(line, end+1) == 6 && fits(line, end, ".000000]"): // the kernel's seconds
		return end + len(".000000")
	}
	return i
}

func fits(line []byte, i int, layout string) bool {
	if i+len(layout) > len(line) {
		return false
	}
	for j := range len(layout) {
		c := line[i+j]
		switch layout[j] {
		case '0':
			if !isDigit(c) {
				return false
			}
		case 'A':
			if !isUpper(c) {
				return false
			}
		case 'a':
			if c < 'a' || c > 'z' {
				return false
			}
		default:
			if c != layout[j] {
				return false
			}
		}
	}
	return true
}

// timeEnd is the end of the seconds, fraction and zone that may stand at i.
func timeEnd(line []byte, i int) int {
	if byteAt(line, i) == ':' && digitsAt(line, i+1) == 2 {
		i += 3
	}
	i += fraction(line, i)
	switch rest := line[i:]; {
	case hasPrefix(rest, "Z"):
		return i + 1
	case fits(rest, 0, "+00:00"), fits(rest, 0, "-00:00"):
		return i + 6
	case fits(rest, 0, "+0000"), fits(rest, 0, "-0000"):
		return i + 5
	case fits(rest, 0, " +0000"), fits(rest, 0, " -0000"):
		return i + 6
	case hasPrefix(rest, " AM"), hasPrefix(rest, " PM"):
		return i + 3
	}
	return i
}

func fraction(line []byte, i int) int {
	if d := digitsAt(line, i+1); d > 0 && isOneOf(byteAt(line, i), ".,:") {
		return 1 + d
	}
	return 0
}

// skipColour skips the escape sequences of terminals.
func skipColour(line []byte, i int) int {
	for i+1 < len(line) && line[i] == 0x1b && line[i+1] == '[' {
		for i += 2; i < len(line) && !isLetter(line[i]); i++ {
		}
		i++
	}
	return min(i, len(line))
}
