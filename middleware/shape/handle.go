package shape

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"rlmproxy/cache"
)

// HandleScheme is how all URIs of ours begin, and HandlePrefix those of handles.
const (
	HandleScheme = "rlmproxy://"
	HandlePrefix = HandleScheme + "cache/"
)

// A Handle names what the cache keeps for an agent: a result, one of its blocks, or what a
// jq program makes of it.
type Handle struct {
	ID    cache.ID
	Block int    // -1: the only one, or all
	JQ    string // empty: as it is
}

// An id that an agent has copied wrongly is one still, and unknown.
var handleForm = regexp.MustCompile(`(?s)^` + HandlePrefix + `([a-z0-9]{8,32})(?:/(\d{1,6}))?(?:\?jq=(.*))?$`)

// ParseHandle reads rlmproxy://cache/ID, with /BLOCK, ?jq=PROGRAM or both behind it.
func ParseHandle(uri string) (h Handle, ok bool) {
	m := handleForm.FindStringSubmatch(uri)
	if m == nil {
		return h, false
	}
	h = Handle{ID: cache.ID(m[1]), Block: -1, JQ: plainProgram(m[3])}
	if m[2] != "" {
		h.Block, _ = strconv.Atoi(m[2])
	}
	return h, true
}

// plainProgram is a program of a URI. Agents write programs as they are, and in these % is no
// escape.
func plainProgram(program string) string {
	if strings.ContainsAny(program, " \"|{}<>[]^`\\\n") {
		return program
	}
	if plain, err := url.PathUnescape(program); err == nil {
		return plain
	}
	return program
}

// blockURI names a block of a cached answer as a resource.
func blockURI(id cache.ID, block int) string { return fmt.Sprintf("%s%s/%d", HandlePrefix, id, block) }

// ReadID returns the id of the answer that a URI names, "" if it is not a URI of ours.
func ReadID(uri string) cache.ID {
	if h, ok := ParseHandle(uri); ok && h.ID.Possible() {
		return h.ID
	}
	return ""
}
