package main

import (
	"fmt"
	"log/slog"
	"path/filepath"

	"rlmproxy/config"
	"rlmproxy/container"
	"rlmproxy/middleware"
	"rlmproxy/registry"
)

// openMade opens the tools that agents make at run time, or returns nil where they are off.
func openMade(p config.Proxy, logger *slog.Logger) (*middleware.Made, error) {
	if !p.RuntimeTools {
		return nil, nil
	}
	made := &middleware.Made{NoContainer: "neither podman nor docker is installed"}
	dir, _, err := stateDir(p)
	if err == nil && p.RegistryURL == "" {
		made.Store, err = registry.OpenFolder(dir)
	}
	if err != nil {
		return nil, &usageError{fmt.Errorf("the tools that agents make cannot be kept: %w", err),
			"name another folder in stateDir (RLMPROXY_STATE_DIR), or switch runtimeTools off (RLMPROXY_RUNTIME_TOOLS)"}
	}
	if p.RegistryURL != "" {
		if made.Store, err = registry.OpenPostgres(string(p.RegistryURL), logger); err != nil {
			return nil, &usageError{fmt.Errorf("registryURL: %w", err), "write it as in postgres://user:password@host:5432/database?sslmode=verify-full"}
		}
	}
	if container.Installed() {
		made.Container = container.New(container.Options{Image: p.ContainerImage, Dir: filepath.Join(dir, "packages"), Logger: logger})
	}
	return made, nil
}

// closeMade ends their containers, and the store.
func closeMade(made *middleware.Made) {
	if made == nil {
		return
	}
	if engine, ok := made.Container.(*container.Engine); ok {
		engine.Close()
	}
	made.Store.Close()
}
