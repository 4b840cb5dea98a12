package main

import (
	"strings"
	"testing"

	"rlmproxy/config"
)

// TestNameOf: a server of the command line is called by its package, image, program or host.
// What cannot be read for certain may be a secret, and is not shown.
func TestNameOf(t *testing.T) {
	for command, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-filesystem .":             "server-filesystem",
		"/usr/bin/npx @modelcontextprotocol/server-memory@2026.8.31":   "server-memory",
		"npx.cmd -y dbhub --demo":                                      "dbhub",
		"cmd /c npx -y dbhub":                                          "dbhub",
		"npx -p @scope/tools some-server":                              "some-server",
		"bunx --bun my-server":                                         "my-server",
		"uvx mcp-server-git==1.2":                                      "mcp-server-git",
		"uvx --from git+https://hunter2@example.com/x mcp-x":           "mcp-x",
		"uvx mcp-proxy[all]@latest":                                    "mcp-proxy",
		"uvx git+https://hunter2@example.com/x":                        "uvx",
		"npx --token hunter2 server":                                   "npx",
		"npx":                                                          "npx",
		"docker run -i --rm -e TOKEN=hunter2 ghcr.io/github/server:v1": "server",
		"docker run --rm --env=A=b localhost:5000/a/b@sha256:00":       "b",
		"docker run --secret hunter2 image":                            "docker",
		"docker exec hunter2 server":                                   "docker",
		"podman run mcp/fetch":                                         "fetch",
		"/opt/servers/files.exe hunter2":                               "files",
		"node /opt/index.js":                                           "node",
	} {
		words := strings.Fields(command)
		if got := nameOf(config.Server{Command: words[0], Args: words[1:]}); got != want {
			t.Errorf("%s: %q, not %q", command, got, want)
		}
	}
	if got := nameOf(config.Server{URL: "https://user:hunter2@mcp.example.com:8080/mcp?key=hunter2"}); got != "mcp.example.com" {
		t.Error(got)
	}
}
