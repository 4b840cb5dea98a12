package digest

import "bytes"

// isFrame reports a line that stands in a stack trace for a call.
func isFrame(line []byte) bool {
	t := bytes.TrimLeft(line, " \t")
	indented := len(t) < len(line)
	t = bytes.TrimRight(t, " \t\r\n")
	if len(t) < 6 || len(t) > 2000 {
		return false
	}
	switch {
	case hasPrefix(t, "at "): // Java, JavaScript, .NET, Rust
		return indented && (t[len(t)-1] == ')' || bytes.IndexByte(t, ':') > 0 || bytes.IndexByte(t, '(') > 0)
	case hasPrefix(t, `File "`): // Python
		return bytes.Contains(t, []byte(`", line `))
	case hasPrefix(t, "... "): // Java
		return bytes.HasSuffix(t, []byte(" more"))
	case hasPrefix(t, "from "): // Ruby
		return indented && bytes.Contains(t, []byte(".rb:"))
	case t[0] == '#' && digitsAt(t, 1) > 0: // PHP, gdb
		return at(t, 1+digitsAt(t, 1), " ") && (bytes.IndexByte(t, '(') > 0 || bytes.HasSuffix(t, []byte("{main}")))
	case isDigit(t[0]): // Rust: "  12: core::panicking::panic"
		d := digitsAt(t, 0)
		return indented && at(t, d, ":") && at(t, d+1, " ") && bytes.Contains(t, []byte("::"))
	case bytes.Contains(t, []byte(":in `")), bytes.Contains(t, []byte(":in '")): // Ruby
		return bytes.Contains(t, []byte(".rb:"))
	}
	if indented && line[0] == '\t' { // Go
		i := bytes.Index(t, []byte(".go:"))
		return i > 0 && digitsAt(t, i+4) > 0 || bytes.Contains(t, []byte(".s:"))
	}
	return goCall(t) && !indented
}

// goCall reports main.(*T).f(0x1, {…}) and created by main.f in goroutine 1.
func goCall(t []byte) bool {
	if hasPrefix(t, "created by ") {
		return true
	}
	open := bytes.LastIndexByte(t, '(')
	if open < 3 || t[len(t)-1] != ')' || bytes.IndexByte(t[:open], '.') < 0 || bytes.IndexByte(t[:open], '=') >= 0 {
		return false
	}
	args := t[open+1 : len(t)-1]
	return bytes.IndexByte(t[:open], ' ') < 0 && (len(args) == 0 || hasPrefix(args, "0x") || hasPrefix(args, "{0x") || hasPrefix(args, "...") || hasPrefix(args, "{{"))
}

// traceOpener reports a line that begins a trace or names its cause.
func traceOpener(line []byte) bool {
	t := bytes.TrimSpace(line)
	switch {
	case hasPrefix(t, "Traceback (most recent call last)"), hasPrefix(t, "Caused by: "), hasPrefix(t, "Exception in thread "), hasPrefix(t, "Unhandled exception"), hasPrefix(t, "Suppressed: "),
		hasPrefix(t, "panic: "), hasPrefix(t, "fatal error: "), hasPrefix(t, "stack backtrace:"), hasPrefix(t, "Stack trace:"), hasPrefix(t, "PHP Fatal error:"), hasPrefix(t, "Fatal error: "),
		hasPrefix(t, "[signal "), hasPrefix(t, "--- End of"), hasPrefix(t, "---> "), hasPrefix(t, "Uncaught "):
		return true
	case hasPrefix(t, "thread '"):
		return bytes.Contains(t, []byte("' panicked at"))
	case hasPrefix(t, "goroutine "):
		return len(t) > 12 && isDigit(t[10]) && t[len(t)-1] == ':'
	}
	return isException(line)
}

// isException reports java.lang.IllegalStateException: text, TypeError: text,
// "Uncaught Error".
func isException(line []byte) bool {
	end := 0
	for end < len(line) && end < 100 && (isAlpha(line[end]) || isDigit(line[end]) || line[end] == '.' || line[end] == '_' || line[end] == '$') {
		end++
	}
	name := line[:end]
	if end < 5 || end < len(line) && line[end] != ':' && line[end] != '\r' && line[end] != '\n' && line[end] != ' ' {
		return false
	}
	if end < len(line) && line[end] == ' ' && !at(line, end+1, "[") { // Error [ERR_X]: text
		return false
	}
	return bytes.HasSuffix(name, []byte("Error")) || bytes.HasSuffix(name, []byte("Exception")) || bytes.HasSuffix(name, []byte("Interrupt")) ||
		bytes.HasSuffix(name, []byte("Warning")) && end < len(line) && line[end] == ':' && bytes.IndexByte(name, '.') > 0
}

// libraries are marks of frames that are not the caller's own code.
var libraries = []string{"node:", "node_modules/", "internal/", "site-packages/", "dist-packages/", "/lib/python", "<frozen ", "/usr/lib/", "/rustc/", "/.cargo/registry/",
	"/go/src/", "/src/runtime/", "/src/testing/", "/src/net/http/", "/pkg/mod/", "at java.", "at javax.", "at jdk.", "at sun.", "at java.base/", "at org.springframework.", "at org.apache.", "at org.junit.", "at org.hibernate.", "at org.postgresql.", "at com.mysql.", "at io.netty.", "at reactor.", "at com.fasterxml.", "at com.zaxxer.", "at com.sun.", "at org.eclipse.", "at org.gradle.", "at okhttp3.", "at kotlin.", "at scala.",
	"at System.", "at Microsoft.", "at Promise", "at new Promise", "<anonymous>", "std::", "core::", "alloc::", "rust_begin_unwind", "/gems/", "/vendor/", "runtime.", "panic("}

func isLibrary(frame []byte) bool {
	for _, mark := range libraries {
		if bytes.Contains(frame, []byte(mark)) {
			return true
		}
	}
	return false
}
