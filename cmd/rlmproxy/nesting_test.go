package main

import "testing"

// TestStartsItself goes down from proxy to proxy, with or without something else
// in between.
func TestStartsItself(t *testing.T) {
	const file, other = "/a/mcp.json", "/a/b c.json"
	environ := []string{"PATH=/bin"}
	if startsItself(environ, 1, file) {
		t.Error("no proxy is above")
	}
	environ = append(environ, serving(environ, 10, file))
	if !startsItself(environ, 10, file) {
		t.Error("the parent serves the file")
	}
	if startsItself(environ, 10, other) {
		t.Error("the parent serves another file")
	}
	environ = append(environ, serving(environ, 11, other))
	if !startsItself(environ, 11, file) || !startsItself(environ, 11, other) {
		t.Error("the parent serves the other file, a proxy above it this one")
	}
	for pid := 12; pid < 14; pid++ {
		if startsItself(environ, 5, file) {
			t.Errorf("%d: an agent that a server started may use the proxy", pid)
		}
		environ = append(environ, serving(environ, pid, file))
	}
	if !startsItself(environ, 5, file) {
		t.Error("three proxies of the file are above")
	}
}
