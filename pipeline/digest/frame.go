package digest

import "bytes"

// isFrame reports a line of a stack trace that stands for a call.
func isFrame(line []byte) bool {
	t := bytes.TrimSpace(line)
	if len(t) < 6 || len(t) > 2000 {
		return false
	}
	if !isIndented(line) {
		digits := digitsAt(t, 1)
		switch {
		case t[0] == '#': // PHP, gdb
			return digits > 0 && byteAt(t, 1+digits) == ' ' && (bytes.IndexByte(t, '(') > 0 || bytes.HasSuffix(t, []byte("{main}")))
		case contains(t, ".rb:"):
			return contains(t, ":in `") || contains(t, ":in '")
		}
		return isGoCall(t)
	}
	switch {
	case hasPrefix(t, "at "): // Java, JavaScript, .NET, Rust
		return lastByte(t) == ')' || bytes.ContainsAny(t, ":(")
	case hasPrefix(t, `File "`): // Python
		return contains(t, `", line `)
	case hasPrefix(t, "... "): // Java
		return bytes.HasSuffix(t, []byte(" more"))
	case hasPrefix(t, "from "): // Ruby
		return contains(t, ".rb:")
	case isDigit(t[0]): // Rust: "  12: core::panicking::panic"
		return hasPrefix(t[digitsAt(t, 0):], ": ") && contains(t, "::")
	}
	return isGoFile(line)
}

// isGoFile reports the place of a call in a trace of Go, below the call.
func isGoFile(line []byte) bool {
	if byteAt(line, 0) != '\t' {
		return false
	}
	i := bytes.Index(line, []byte(".go:"))
	return i > 0 && digitsAt(line, i+4) > 0 || contains(line, ".s:")
}

// isGoCall reports main.(*T).f(0x1, {…}) and created by main.f in goroutine 1.
func isGoCall(t []byte) bool {
	if hasPrefix(t, "created by ") {
		return true
	}
	open := bytes.LastIndexByte(t, '(')
	if open < 3 || lastByte(t) != ')' || bytes.IndexByte(t[:open], '.') < 0 || bytes.ContainsAny(t[:open], "= ") {
		return false
	}
	args := t[open+1 : len(t)-1]
	return len(args) == 0 || hasAnyPrefix(args, []string{"0x", "{0x", "...", "{{"})
}

// traceOpeners begin a trace or the part of it that names a cause.
var traceOpeners = []string{"Traceback (most recent call last)", "Caused by: ", "Exception in thread ", "Unhandled exception", "Suppressed: ", "panic: ", "fatal error: ", "stack backtrace:",
	"Stack trace:", "PHP Fatal error:", "Fatal error: ", "[signal ", "--- End of", "---> ", "Uncaught "}

// startsTrace reports a line that begins a trace or names its cause.
func startsTrace(line []byte) bool {
	t := bytes.TrimSpace(line)
	switch {
	case len(t) == 0:
		return false
	case isOneOf(t[0], "TCEUSpfs[-PF") && hasAnyPrefix(t, traceOpeners), isGoroutine(t):
		return true
	case hasPrefix(t, "thread '"):
		return contains(t, "' panicked at")
	}
	return isException(line)
}

// isGoroutine reports goroutine 7 [chan receive, 5 minutes]:.
func isGoroutine(t []byte) bool {
	return hasPrefix(t, "goroutine ") && digitsAt(t, len("goroutine ")) > 0 && lastByte(t) == ':'
}

// isException reports java.lang.IllegalStateException: text, TypeError: text,
// Error [ERR_X]: text.
func isException(line []byte) bool {
	end := 0
	for end < min(len(line), 100) && (isWord(line[end]) || line[end] == '.') {
		end++
	}
	name, rest := line[:end], line[end:]
	if end < 5 || len(rest) > 0 && rest[0] != ':' && !hasPrefix(rest, " [") {
		return false
	}
	return bytes.HasSuffix(name, []byte("Error")) || bytes.HasSuffix(name, []byte("Exception")) || bytes.HasSuffix(name, []byte("Interrupt")) ||
		bytes.HasSuffix(name, []byte("Warning")) && len(rest) > 0 && bytes.IndexByte(name, '.') > 0
}

// libraries are marks of frames that are not the caller's own code.
var libraries = []string{
	"node:", "node_modules/", "internal/", "<anonymous>", "at Promise", "at new Promise", // JavaScript
	"site-packages/", "dist-packages/", "/lib/python", "<frozen ", "/usr/lib/", "/gems/", "/vendor/", // Python, Ruby, PHP
	"/go/src/", "/src/runtime/", "/src/testing/", "/src/net/http/", "/pkg/mod/", "runtime.", "panic(", // Go
	"/rustc/", "/.cargo/registry/", "std::", "core::", "alloc::", "rust_begin_unwind", // Rust
	"at java.", "at javax.", "at jdk.", "at sun.", "at com.sun.", "at java.base/", "at kotlin.", "at scala.", "at org.springframework.", "at org.apache.", "at org.junit.", "at org.hibernate.", "at org.postgresql.",
	"at org.eclipse.", "at org.gradle.", "at com.mysql.", "at com.fasterxml.", "at com.zaxxer.", "at io.netty.", "at reactor.", "at okhttp3.", "at System.", "at Microsoft.", // Java, .NET
}

func isLibrary(frame []byte) bool {
	for _, mark := range libraries {
		if contains(frame, mark) {
			return true
		}
	}
	return false
}
