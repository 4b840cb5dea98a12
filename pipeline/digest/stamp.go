package digest

import "bytes"

// stampLen is how far into a line its time may begin.
const stampLen = 100

// stamp finds the time at the begin of a line of a log, behind a bracket, a
// priority, a container's name or the addresses of an access log.
func stamp(line []byte) (from, to int, ok bool) {
	line = line[:min(len(line), stampLen+60)]
	i := skipColour(line, 0)
	if i < len(line) && line[i] == '<' { // <34>1 2024-…, RFC 5424
		if j := bytes.IndexByte(line, '>'); j > 0 && j < i+6 {
			if i = j + 1; i+1 < len(line) && line[i] == '1' && line[i+1] == ' ' {
				i += 2
			}
		}
	}
	for _, key := range []string{"time=", "ts=", "timestamp=", "t=", "at="} {
		if hasPrefix(line[i:], key) {
			i += len(key)
			break
		}
	}
	for i < len(line) && (line[i] == '[' || line[i] == '(' || line[i] == '"' || line[i] == ' ' && i < 9) {
		i++
	}
	if i = skipColour(line, i); i >= len(line) {
		return 0, 0, false
	}
	if end := clock(line, i); end > i {
		return i, end, true
	}
	// A container, or a host and a user, stand before the time.
	if bar := bytes.Index(line[:min(len(line), 60)], []byte(" | ")); bar > 0 {
		j := skipColour(line, bar+3)
		if end := clock(line, j); end > j {
			return j, end, true
		}
	}
	if open := bytes.IndexByte(line, '['); open > 4 && open < stampLen && bytes.Count(line[:open], []byte(" ")) == 3 {
		if end := clock(line, open+1); end > open+1 {
			return open + 1, end, true
		}
	}
	return 0, 0, false
}

// skipColour skips escape sequences of terminals.
func skipColour(line []byte, i int) int {
	for i+1 < len(line) && line[i] == 0x1b && line[i+1] == '[' {
		for i += 2; i < len(line) && !isAlpha(line[i]); i++ {
		}
		i++
	}
	return min(i, len(line))
}

// clock returns the end of the date and time at i, or i. A date without a time
// is none, and neither is a number that ends its line.
func clock(line []byte, i int) int {
	d := digitsAt(line, i)
	switch {
	case d == 4 && at(line, i+4, "-/") && digitsAt(line, i+5) > 0: // 2024-01-02T03:04:05.678+01:00
		j := i + 5 + digitsAt(line, i+5)
		if !at(line, j, "-/") {
			return i
		}
		j += 1 + digitsAt(line, j+1)
		if at(line, j, "T _-") {
			if end := hours(line, j+1); end > j+1 {
				return end
			}
		}
	case (d == 1 || d == 2) && at(line, i+d, ":"): // 03:04:05
		return hours(line, i)
	case d == 2 && at(line, i+2, "-/."): // 01-02 03:04:05, 02/Jan/2006:15:04:05, 31.01.2024 03:04:05
		j := i + 3
		for n := 0; j < len(line) && n < 9 && (isDigit(line[j]) || isAlpha(line[j]) || at(line, j, "-/.")); n++ {
			j++
		}
		if at(line, j, " :,T") {
			if at(line, j, ",") && at(line, j+1, " ") {
				j++
			}
			if end := hours(line, j+1); end > j+1 {
				return end
			}
		}
	case d >= 10 && d <= 19 && d != 11 && d != 12 && (line[i] == '1' || line[i] == '2') && at(line, i+d, ". ]"): // since 1970
		return i + d + fraction(line, i+d)
	case d > 0 && d < 8 && at(line, i+d, ".") && digitsAt(line, i+d+1) == 6 && at(line, i+d+7, "]"): // the kernel's seconds
		return i + d + 7
	case d == 0 && i+5 < len(line) && bytes.IndexByte([]byte("IWEFD"), line[i]) >= 0 && digitsAt(line, i+1) == 4 && line[i+5] == ' ': // I0102 03:04:05
		if end := hours(line, i+6); end > i+6 {
			return end
		}
	case d == 0 && isMonth(line, i): // Jan  2 03:04:05, Jan 02, 2024 3:04:05 PM
		j := i + 4
		for n := 0; j < len(line) && n < 10 && (isDigit(line[j]) || at(line, j, " ,")); j, n = j+1, n+1 {
			if end := hours(line, j); end > j {
				return end
			}
		}
	case d == 0 && i+4 < len(line) && isAlpha(line[i]) && line[i+3] == ' ' && isMonth(line, i+4): // Tue Jan  2 03:04:05 2024
		return clock(line, i+4)
	}
	return i
}

// hours returns the end of a time with seconds at i, with its fraction and zone,
// or i.
func hours(line []byte, i int) int {
	h := digitsAt(line, i)
	if h < 1 || h > 2 || !at(line, i+h, ":") || digitsAt(line, i+h+1) != 2 {
		return i
	}
	j := i + h + 3
	if at(line, j, ":") && digitsAt(line, j+1) == 2 {
		j += 3
	} else if i == 0 || !at(line, i-1, "T ") {
		return i // as in "12:30 lunch"
	}
	j += fraction(line, j)
	switch {
	case at(line, j, "Z"):
		j++
	case at(line, j, "+-") && digitsAt(line, j+1) >= 2:
		j += 1 + digitsAt(line, j+1)
		if at(line, j, ":") && digitsAt(line, j+1) == 2 {
			j += 3
		}
	case at(line, j, " ") && at(line, j+1, "+-") && digitsAt(line, j+2) == 4:
		j += 6
	case at(line, j, " ") && at(line, j+1, "AP") && at(line, j+2, "M"):
		j += 3
	}
	return j
}

func fraction(line []byte, i int) int {
	if at(line, i, ".,:") {
		if d := digitsAt(line, i+1); d > 0 {
			return 1 + d
		}
	}
	return 0
}

func isMonth(line []byte, i int) bool {
	if i+3 >= len(line) || line[i+3] != ' ' {
		return false
	}
	switch string(line[i : i+3]) {
	case "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec":
		return true
	}
	return false
}
