package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/dustin/go-humanize"

	"rlmproxy/fleet"
	"rlmproxy/pipeline/show"
	"rlmproxy/registry"
)

// oldestStore is the version of Redis that the project is tried with at least.
const oldestStore = "6.2"

// store looks at what replicas share. Where it cannot be used, the doctor goes on as if
// there were none.
func (d *doctor) store(ctx context.Context) {
	p := &d.cfg.Proxy
	if p.CacheURL == "" {
		return
	}
	look := d.begin("store")
	u, err := url.Parse(string(p.CacheURL))
	if err != nil {
		u = &url.URL{}
	}
	at := u.Host // without what else the URL holds
	if u.Scheme == "unix" {
		at = u.Path
	}
	look.Text = "at " + at
	s, err := openFleet(*p, nil)
	if err != nil {
		d.fails(look, err)
		p.CacheURL = ""
		return
	}
	defer s.Close()
	if host, plain, open := fleet.Unguarded(string(p.CacheURL)); host != "" {
		if plain {
			d.add(look, warning, "", "results and the store's password go to "+host+" without encryption", "serve TLS there, and begin cacheURL with rediss://")
		}
		if open {
			d.add(look, warning, "", "the store at "+host+" asks for no password: whoever reaches it reads and changes what agents keep", "set one there (requirepass, or ACL SETUSER), and in RLMPROXY_CACHE_URL")
		}
	}
	about, err := s.About(ctx)
	if err != nil {
		if _, cause := s.Away(); cause != nil {
			err = cause
		}
		d.add(look, fault, "", "it cannot be used: "+err.Error(), storeCure(err))
		p.CacheURL = ""
		return
	}
	look.Text = fmt.Sprintf("%s %s at %s, fleet %s", about.Software, about.Version, at, p.FleetName)
	if replicas, err := s.Replicas(ctx); err == nil {
		look.Text += ", " + show.Plural(len(replicas)-1, "replicas") // without the doctor
	}
	if about.Software == "Redis" && older(about.Version, oldestStore) {
		d.add(look, warning, "", "Redis "+about.Version+" is older than what rlmproxy is tried with", "install Redis "+oldestStore+" or later, or Valkey")
	}
	switch {
	case about.MaxBytes == 0 || about.Policy == "noeviction" || about.Policy == "":
	case strings.HasPrefix(about.Policy, "volatile-"):
		d.add(look, warning, "", fmt.Sprintf("when it is full (%s), its maxmemory-policy %s drops cached results and sessions before their time", humanize.IBytes(uint64(about.MaxBytes)), about.Policy), "set maxmemory-policy noeviction there, and maxmemory to what maxMemory allows, with some for sessions")
	default:
		d.add(look, warning, "", fmt.Sprintf("when it is full (%s), its maxmemory-policy %s may drop anything, pins of tools, sign-ins and the secret of the fleet too", humanize.IBytes(uint64(about.MaxBytes)), about.Policy), "set maxmemory-policy noeviction there, and maxmemory to what maxMemory allows, with some for sessions")
	}
	if about.Known && !about.Lasts {
		d.add(look, warning, "", "it writes nothing to disk: its restart loses cached results and sessions, and if no replica runs then, pins of tools, sign-ins and the secret of the fleet too", "set appendonly yes there, or save")
	}
}

// madeTools looks at the database of the tools that agents make, if there is one.
func (d *doctor) madeTools(ctx context.Context) {
	p := &d.cfg.Proxy
	if !p.RuntimeTools || p.RegistryURL == "" {
		return
	}
	look := d.begin("made tools")
	s, err := registry.OpenPostgres(string(p.RegistryURL), nil)
	if err != nil {
		d.add(look, fault, "", "registryURL: "+err.Error(), "write it as in postgres://user:password@host:5432/database?sslmode=verify-full")
		return
	}
	defer s.Close()
	look.Text = "in " + s.Where()
	if err := s.Ping(ctx); err != nil {
		var away *registry.AwayError
		if errors.As(err, &away) {
			err = away.Err
		}
		d.add(look, fault, "", "it cannot be used: "+strings.Join(strings.Fields(err.Error()), " "), "start it, or correct registryURL (RLMPROXY_REGISTRY_URL); until then no tool of an agent is there, and none can be made")
	}
}

// storeCure is what helps where the store cannot be used.
func storeCure(err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "NOAUTH"), strings.Contains(text, "WRONGPASS"):
		return "set the right user and password in RLMPROXY_CACHE_URL, as in redis://user:password@host:6379"
	case strings.Contains(text, "NOPERM"):
		return `give its user all commands for keys and channels that begin with rlmproxy: or {rlmproxy:, as ACL SETUSER USER ~rlmproxy:* ~{rlmproxy:* &{rlmproxy:* +@all -@admin +info`
	}
	return "start it, or correct cacheURL (RLMPROXY_CACHE_URL); until then each replica keeps results and counts calls for itself, and holds back what it has not seen"
}

// older reports whether a version of two numbers or more is before another.
func older(version, than string) bool {
	var a, b [2]int
	_, err := fmt.Sscanf(version, "%d.%d", &a[0], &a[1])
	if _, err2 := fmt.Sscanf(than, "%d.%d", &b[0], &b[1]); err != nil || err2 != nil {
		return false
	}
	return a[0] < b[0] || a[0] == b[0] && a[1] < b[1]
}
