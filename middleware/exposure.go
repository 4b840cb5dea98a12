package middleware

import (
	"cmp"
	"fmt"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/catalogue"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/tools"
	"rlmproxy/pipeline/show"
)

// An Exposure says how agents come to know the tools of a server.
type Exposure string

const (
	ExposeAuto   Exposure = "auto"   // all, or search where the list would be long
	ExposeAll    Exposure = "all"    // each is in the list of tools
	ExposeSearch Exposure = "search" // none is: proxy_find_tools finds them
	ExposeGroups Exposure = "groups" // likewise, and its description has a line for each server
)

// Check is an error for an exposure that there is not. The empty one is that of Options, where it
// is ExposeAuto.
func (e Exposure) Check() error {
	switch e {
	case "", ExposeAuto, ExposeAll, ExposeSearch, ExposeGroups:
		return nil
	}
	return fmt.Errorf("exposure %q, want auto, all, search or groups", e)
}

// searchesItself are clients, by the name in their handshakes, that keep long lists of tools
// from their models themselves: docs/catalogue.md says where that is from. ExposeAuto lists
// everything to them.
var searchesItself = map[string]bool{"claude-code": true, "cursor-vscode": true}

// An exposing is what of a listing one client gets to read.
type exposing struct {
	all    func(*Upstream) bool // each tool of this server
	groups bool
}

// exposure decides that, by what the operator wants and how long the list would be.
func (s *Server) exposure(client string, v view, l *listing) exposing {
	wanted := func(up *Upstream) Exposure { return cmp.Or(up.Exposure, s.opts.Exposure) }
	groups, auto := false, false
	for _, up := range v.tooled() {
		groups = groups || wanted(up) == ExposeGroups
		auto = auto || wanted(up) == ExposeAuto
	}
	long := false
	if auto && !searchesItself[client] {
		sum := 0
		for i, t := range l.targets {
			if e := wanted(t.up); sum <= s.opts.CatalogueTokens && (e == ExposeAuto || e == ExposeAll) && v.tool(t.up, t.tool.Name) {
				sum += l.size(i)
			}
		}
		long = sum > s.opts.CatalogueTokens
	}
	return exposing{groups: groups, all: func(up *Upstream) bool {
		switch wanted(up) {
		case ExposeAll:
			return true
		case ExposeAuto:
			return !long
		}
		return false
	}}
}

// clientName is what the program says that it is.
func clientName(r *session.Request) string {
	info := r.ClientInfo
	if info == nil {
		info = r.Session.ClientInfo()
	}
	return jsonscan.StringMember(info, "name")
}

// stand is what stands in for tools that a client is not listed, or nil.
func (s *Server) stand(v view, e exposing, l *listing) []string {
	var servers []string
	hides := false
	for _, up := range v.tooled() {
		if e.all(up) {
			continue
		}
		hides = true
		line := up.Name
		if e.groups {
			line = "\n- " + up.Name
			if about := up.about(); about != "" {
				line += ": " + about
			}
		}
		servers = append(servers, line)
	}
	if !hides {
		return nil
	}
	readOnly := true
	for _, t := range l.targets {
		readOnly = readOnly && (t.onlyReads() || !v.tool(t.up, t.tool.Name))
	}
	for _, up := range s.upstreams() {
		readOnly = readOnly && (up.listed() || !v.maybe(up)) // what it has will be called by the same tool
	}
	const most = 100
	if more := len(servers) - most; more > 0 {
		servers = append(servers[:most], fmt.Sprintf("%d more", more))
	}
	join := ", "
	if e.groups {
		join = ""
	}
	return tools.Stand{Servers: strings.Join(servers, join) + ".", ReadOnly: readOnly}.Definitions()
}

// about is what a server is for, in a sentence: the operator's, or else its own in quotes,
// for it may say anything.
func (u *Upstream) about() string {
	if u.Description != "" {
		return catalogue.Sentence(u.Description)
	}
	if info := u.Conn.Info(); info != nil && strings.TrimSpace(info.Instructions) != "" {
		return show.Quote(catalogue.Sentence(info.Instructions))
	}
	return ""
}
