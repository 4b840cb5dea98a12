package main

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// servedFiles is an environment variable that we give to the servers we start. It
// holds our process id, and the files that we and the proxies above us serve. A file
// may have an entry for the proxy itself, as Claude Desktop's has: a proxy that
// serves it would start a proxy that serves it, and so on, a hundred in two seconds.
const servedFiles = "_RLMPROXY_FILES"

// maxNested proxies of one file may run below each other, where something else
// stands between them: a server may start agents that are clients of a proxy.
const maxNested = 3

// servedAbove reads that variable: the process of the nearest proxy above us, and
// the files of all that are.
func servedAbove(environ []string) (pid string, files []string) {
	for _, kv := range slices.Backward(environ) {
		if list, ok := strings.CutPrefix(kv, servedFiles+"="); ok {
			pid, list, _ = strings.Cut(list, " ")
			return pid, filepath.SplitList(list)
		}
	}
	return "", nil
}

// startsItself reports whether to serve file would start proxies without end: our
// parent is a proxy that serves it, or too many are above us.
func startsItself(environ []string, parent int, file string) bool {
	pid, files := servedAbove(environ)
	n := 0
	for _, f := range files {
		if f == file {
			n++
		}
	}
	return n >= maxNested || n > 0 && pid == strconv.Itoa(parent)
}

// serving is the variable for servers of file.
func serving(environ []string, self int, file string) string {
	_, files := servedAbove(environ)
	return servedFiles + "=" + strconv.Itoa(self) + " " + strings.Join(append(files, file), string(filepath.ListSeparator))
}
