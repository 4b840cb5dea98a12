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
		return isGoCall(t) || contains(t, ".rb:") && contains(t, ":in ") || // Ruby
			t[0] == '#' && digits > 0 && byteAt(t, 1+digits) == ' ' && bytes.ContainsAny(t, "({") // PHP, gdb
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

// isGoFile reports the place of a call in a trace of Go, which is below the call.
func isGoFile(line []byte) bool {
	return byteAt(line, 0) == '\t' && (contains(line, ".go:") || contains(line, ".s:"))
}

// isGoCall reports main.(*T).f(0x1, {…}) and created by main.f in goroutine 1.
func isGoCall(t []byte) bool {
	if hasPrefix(t, "created by ") {
		return true
	}
	name, args := t, t[:0]
	if open := bytes.LastIndexByte(t, '('); open > 2 && lastByte(t) == ')' {
		name, args = t[:open], t[open+1:]
	}
	return len(args) > 0 && bytes.IndexByte(name, '.') > 0 && !bytes.ContainsAny(name, "= ") && hasAnyPrefix(args, goArguments)
}

var goArguments = []string{")", "0x", "{0x", "...", "{{"}

// traceOpeners begin a trace or the part of it that names a cause.
var traceOpeners = []string{"Traceback (most recent call last)", "Caused by: ", "Exception in thread ", "Unhandled exception", "Suppressed: ", "panic: ", "fatal error: ", "stack backtrace:",
	"Stack trace:", "PHP Fatal error:", "Fatal error: ", "[signal ", "--- End of", "---> ", "Uncaught ", "thread '"}

// startsTrace reports a line that begins a trace or names its cause.
func startsTrace(line []byte) bool {
	t := bytes.TrimSpace(line)
	return len(t) > 0 && isOneOf(t[0], "TCEUSpfs[-PFt") && hasAnyPrefix(t, traceOpeners) || isGoroutine(t) || isException(line)
}

// isGoroutine reports goroutine 7 [chan receive, 5 minutes]:.
func isGoroutine(t []byte) bool { return hasPrefix(t, "goroutine ") && lastByte(t) == ':' }

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
	return bytes.HasSuffix(name, []byte("Error")) || bytes.HasSuffix(name, []byte("Exception")) || bytes.HasSuffix(name, []byte("Interrupt"))
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
