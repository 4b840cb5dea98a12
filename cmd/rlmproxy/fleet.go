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
