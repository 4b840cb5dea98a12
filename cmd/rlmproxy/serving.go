package main

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// servedFiles is a variable that servers get from us: our process, and the files
// that the proxies above them serve. Claude Desktop's file, say, has an entry for
// the proxy; served by the proxy, it started a hundred of them in two seconds.
const servedFiles = "_RLMPROXY_FILES"

// maxNested proxies of one file may run below each other, where something else
// stands between them: a server may start agents that are clients of a proxy.
const maxNested = 3

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
