package main

import (
	"fmt"
	"log/slog"

	"rlmproxy/config"
	"rlmproxy/middleware"
	"rlmproxy/registry"
)

// openMade opens the tools that agents make at run time, or returns nil where they are off.
func openMade(p config.Proxy, logger *slog.Logger) (*middleware.Made, error) {
	if !p.RuntimeTools {
		return nil, nil
	}
	made := &middleware.Made{NoContainer: "neither podman nor docker is there"}
	if p.RegistryURL != "" {
		store, err := registry.OpenPostgres(string(p.RegistryURL), logger)
		if err != nil {
			return nil, &usageError{fmt.Errorf("registryURL: %w", err), "write it as in postgres://user:password@host:5432/database?sslmode=verify-full"}
		}
		made.Store = store
		return made, nil
	}
	dir, _, err := stateDir(p)
	if err == nil {
		made.Store, err = registry.OpenFolder(dir)
	}
	if err != nil {
		return nil, &usageError{fmt.Errorf("the tools that agents make cannot be kept: %w", err),
			"name another folder in stateDir (RLMPROXY_STATE_DIR), or switch runtimeTools off (RLMPROXY_RUNTIME_TOOLS)"}
	}
	return made, nil
}
