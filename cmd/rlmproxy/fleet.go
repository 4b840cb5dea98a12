package main

import (
	"fmt"
	"log/slog"

	"rlmproxy/config"
	"rlmproxy/fleet"
)

// openFleet opens the store that replicas share, or returns nil where there is none.
func openFleet(p config.Proxy, logger *slog.Logger) (*fleet.Store, error) {
	if p.CacheURL == "" {
		return nil, nil
	}
	if err := oneCache(p); err != nil {
		return nil, err
	}
	s, err := fleet.Open(fleet.Options{URL: string(p.CacheURL), Name: p.FleetName, Secret: string(p.FleetKey), Logger: logger})
	if err != nil {
		return nil, &usageError{fmt.Errorf("cacheURL: %w", err), "write it as in redis://user:password@host:6379/0; for a cluster add ?cluster=true, for sentinels ?master_name=NAME"}
	}
	return s, nil
}

// reach opens the store for a command that needs it to answer, or returns nil where there is
// none.
func reach(p config.Proxy) (*fleet.Store, error) {
	s, err := openFleet(p, nil)
	if err != nil || s == nil {
		return nil, err
	}
	if _, away := s.Away(); away != nil {
		s.Close()
		return nil, fmt.Errorf("the shared store (cacheURL) cannot be used: %w", away)
	}
	return s, nil
}
