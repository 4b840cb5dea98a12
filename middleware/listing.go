package middleware

import (
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"rlmproxy/middleware/catalogue"
	"rlmproxy/middleware/pin"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline/tokens"
)

// A listing is all tools that servers offer at one time, in the order of their list.
type listing struct {
	set     *serverSet
	lists   []listID
	targets []target
	defined []json.RawMessage // as agents get them
	sizes   []atomic.Int32    // of these, in tokens; zero: not counted yet
	trusted []target          // those that are trusted to only read
	found   func() *catalogue.Index
}

// A listID tells the list of a server from a later one.
type listID struct {
	tools   *upstream.Tool
	n       int
	verdict *pin.Verdict
}

// listings keep the last listing.
type listings struct {
	last   atomic.Pointer[listing]
	making sync.Mutex
}

// listing is that of now. It is made anew where a server has another list.
func (s *Server) listing() (*listing, error) {
	if l := s.listings.last.Load(); l.isOf(s.servers.Load()) {
		return l, nil
	}
	s.listings.making.Lock()
	defer s.listings.making.Unlock()
	if l := s.listings.last.Load(); l.isOf(s.servers.Load()) { // made while this one waited
		return l, nil
	}
	l := &listing{set: s.servers.Load()}
	l.lists = listIDs(l.set)
	l.targets = s.names.all() // of these lists or of later ones, whose listing is made then
	found := make([]catalogue.Tool, len(l.targets))
	for i, t := range l.targets {
		raw, err := s.definition(t)
		if err != nil {
			return nil, err
		}
		l.defined = append(l.defined, raw)
		if s.trusts(t) {
			l.trusted = append(l.trusted, t)
		}
		found[i] = catalogue.Tool{Server: t.up.Name + " " + t.up.Description, Own: t.tool.Name, Definition: raw}
	}
	l.sizes = make([]atomic.Int32, len(l.targets))
	l.found = sync.OnceValue(func() *catalogue.Index { return catalogue.New(found) })
	s.listings.last.Store(l)
	return l, nil
}

// isOf reports whether l is what the servers of set offer now. A nil one is not.
func (l *listing) isOf(set *serverSet) bool {
	return l != nil && l.set == set && slices.Equal(l.lists, listIDs(set))
}

// size is how many tokens the definition at i has.
func (l *listing) size(i int) int {
	n := l.sizes[i].Load()
	if n == 0 {
		count, _ := tokens.Count(l.defined[i])
		n = int32(count)
		l.sizes[i].Store(n)
	}
	return int(n)
}

func listIDs(set *serverSet) []listID {
	ids := make([]listID, len(set.tooled))
	for i, up := range set.tooled {
		list := up.Conn.Tools()
		ids[i] = listID{unsafe.SliceData(list), len(list), up.verdict(list)}
	}
	return ids
}
