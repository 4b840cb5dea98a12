package jsonscan

// str returns the offset after the string literal at b[i], or -1.
func str(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for i++; i < len(b); i++ {
		if !ends[b[i]] {
			continue
		}
		switch {
		case b[i] == '"':
			return i + 1
		case b[i] != '\\' || i+1 >= len(b):
			return -1
		}
		i++
		switch escapes[b[i]] {
		case 0:
			return -1
		case 2:
			if i+4 >= len(b) || !hex(b[i+1]) || !hex(b[i+2]) || !hex(b[i+3]) || !hex(b[i+4]) {
				return -1
			}
			i += 4
		}
	}
	return -1
}

// ends has the bytes at which the plain part of a string ends: a quote, a backslash,
// and what may not stand in one.
var ends = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = true
	}
	t['"'], t['\\'] = true, true
	return t
}()

// escapes says what may follow a backslash: 1 stands for itself, 2 is before four
// digits.
var escapes = [256]uint8{'"': 1, '\\': 1, '/': 1, 'b': 1, 'f': 1, 'n': 1, 'r': 1, 't': 1, 'u': 2}

func hex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// IsNumber reports whether s is a number as JSON spells it.
func IsNumber(s string) bool { return s != "" && number(s, 0) == len(s) }

// number returns the offset after the number at b[i], or -1 (RFC 8259, 6).
func number[T string | []byte](b T, i int) int {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = digits(b, i); i < 0 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = digits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if i = digits(b, i); i < 0 {
			return -1
		}
	}
	return i
}

// digits returns the offset after one or more digits at b[i], or -1.
func digits[T string | []byte](b T, i int) int {
	start := i
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

func literal(b []byte, i int) int {
	for _, s := range [...]string{"true", "false", "null"} {
		if len(b)-i >= len(s) && string(b[i:i+len(s)]) == s {
			return i + len(s)
		}
	}
	return -1
}
