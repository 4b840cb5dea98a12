package config

import (
	"slices"
	"strings"
)

// serverKeys are the keys of ours in a server's entry. Each has a case in field, and a form in
// schema.go.
var serverKeys = []string{
	"command", "args", "env", "envFile", "cwd", "url", "headers", "auth", "type", "timeout", "disabled", "prefix", "shape",
	"maxResponseTokens", "allow", "deny", "freshCalls", "trustHints", "pinTools", "quarantine", "hide", "redact", "tools", "isolation", "maxProcesses", "inheritEnv", "rateLimit", "concurrency", "handles",
	"description", "exposure", "readOnly", "features", "subModel",
}

// guards are those of them that keep something from agents or servers. A key that begins
// like one and is none, such as denyTools, is taken for a slip.
var guards = map[string]string{"allow": "allow", "deny": "deny", "hide": "hide", "redact": "redact", "isolat": "isolation", "handle": "handles", "submodel": "subModel", "readon": "readOnly", "expos": "exposure"}

// otherSpellings are keys of other hosts that mean one of ours.
var otherSpellings = map[string]string{
	"transport": "type", "transportType": "type", "serverUrl": "url", "httpUrl": "url", "baseUrl": "url", "http_headers": "headers",
	"oauth":             "auth",
	"working_directory": "cwd", "workingDirectory": "cwd", "env_vars": "inheritEnv", "enabled": "disabled", "isActive": "disabled",
	"includeTools": "allow", "allowedTools": "allow", "enabled_tools": "allow", "available_tools": "allow",
	"excludeTools": "deny", "disabledTools": "deny", "disabled_tools": "deny",
}

// ServerKey is the key of ours that a key of a server's entry is, or that it means in the
// spelling of another host; "" is none.
func ServerKey(key string) string {
	if slices.Contains(serverKeys, key) {
		return key
	}
	return otherSpellings[key]
}

// notRead are keys of other hosts that we leave unread though a server may lack what they
// bring, with what to write instead.
var notRead = map[string]string{
	"headersHelper":        "put what it prints in headers",
	"bearer_token_env_var": `write "headers": {"Authorization": "Bearer ${NAME}"}`,
	"env_http_headers":     `write "headers": {"NAME": "${VARIABLE}"}`,
}

// foreignKeys are keys of other hosts, or notes, that mean nothing here.
var foreignKeys = []string{
	"comment", "_comment", "//", "icon", "icons", "id", "instructions", "name", "note", "tags", "title", "version",
	// Claude Code, Anthropic's API, Cursor, VS Code
	"alwaysLoad", "authorization_token", "dev", "gallery", "sandbox", "sandboxEnabled",
	// Cline, Roo, Kilo, Windsurf, Kiro, Zed
	"autoApprove", "alwaysAllow", "watchPaths", "oauthScopes", "source", "settings",
	// Gemini, Qwen
	"trust", "extension", "extensionName", "tcp", "authProviderType", "targetAudience", "targetServiceAccount",
	// Codex
	"startup_timeout_sec", "startup_timeout_ms", "tool_timeout_sec", "required", "scopes", "oauth_resource",
	"supports_parallel_tool_calls", "default_tools_approval_mode", "approval_mode",
	// Copilot, Warp, Cherry Studio and others
	"isDefaultServer", "sourcePath", "filterMapping", "start_on_launch",
	"provider", "providerUrl", "logoUrl", "longRunning", "registryUrl", "dxtVersion", "timeoutMs",
}

// foreignKey looks at a key of a server's entry that is none of ours. One that other hosts
// write passes. One that is nearly ours is a mistake: who writes "denny" believes that a
// tool is denied. Any other is warned of. near is the key of ours that may be meant, or "".
func (r *reader) foreignKey(n node) (near string) {
	if hint, ok := notRead[n.key]; ok {
		r.warn(n.atKey(), "ignored", hint)
		return ""
	}
	if slices.Contains(foreignKeys, n.key) {
		return ""
	}
	if n.key == "agents" {
		r.mistake(n.atKey(), "not allowed here: rights are set for all servers together", rightsPlace)
		return ""
	}
	ours := slices.Clone(serverKeys)
	for spelling := range otherSpellings {
		ours = append(ours, spelling)
	}
	slices.Sort(ours[len(serverKeys):])
	near = nearest(n.key, slices.Concat(ours, foreignKeys)) // of equally near ones, ours
	for begins, guard := range guards {
		if strings.HasPrefix(letters(n.key), begins) {
			near = guard
		}
	}
	switch {
	case near == "":
		r.warn(n.atKey(), "unknown key, ignored", "")
	case slices.Contains(ours, near):
		r.mistake(n.atKey(), "unknown key", meant(near))
		return near
	default:
		r.warn(n.atKey(), "unknown key, ignored", meant(near))
	}
	return ""
}
