package config

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// A Setting describes one key of proxySettings.
type Setting struct {
	Name    string // in the file, e.g. "maxResponseTokens"
	Default string // as one would write it; "" when unset
	Unit    string // "tokens", "bytes", "URL"; "true|false" and the like for words
	Usage   string // one line, without a full stop

	parse func(text string) (value any, want string)
}

// Units of settings that are read in ways of their own.
const (
	unitURL    = "URL"  // not shown in errors: it may hold a key
	unitFile   = "file" // relative to the folder of mcp.json, or the working directory
	unitList   = "list" // an array in the file, or as elsewhere with commas
	unitText   = "text"
	unitMode   = "mode"    // of a file, in octal
	unitKinds  = "kinds"   // an object of tokens by kind of text, or as elsewhere kind=tokens with commas
	unitSecret = "secrets" // in the environment only
)

// EnvOnly reports whether s is an environment variable, but no flag and no key
// of the file: it holds secrets. Whoever may list processes sees flags, and mcp.json is
// shared and committed.
func (s Setting) EnvOnly() bool { return s.Unit == unitSecret }

// textual reports whether the value of s is a string in the file.
func (s Setting) textual() bool {
	return s.Unit == unitText || s.Unit == unitURL || s.Unit == unitFile || s.Unit == unitList || s.Unit == unitMode || s.Unit == unitKinds
}

// quoted reports whether a string in the file may hold the value of s. A
// count in quotes is a slip; an amount with a unit needs them.
func (s Setting) quoted() bool {
	return s.textual() || s.Unit == "bytes" || s.Unit == "seconds" || strings.Contains(s.Unit, "|") && s.Unit != "true|false"
}

// private reports whether the value of s is not to be shown.
func (s Setting) private() bool { return s.EnvOnly() || s.Unit == unitURL }

// Env is the environment variable of s, e.g. RLMPROXY_MAX_RESPONSE_TOKENS.
func (s Setting) Env() string {
	return envPrefix + strings.ToUpper(strings.Join(s.words(), "_"))
}

// Flag is the name of the flag of s without dashes, e.g. max-response-tokens.
func (s Setting) Flag() string {
	return strings.ToLower(strings.Join(s.words(), "-"))
}

// words splits the name at its capitals: cacheTTLSeconds is cache, TTL,
// Seconds.
func (s Setting) words() []string {
	var words []string
	runes := []rune(s.Name)
	start := 0
	for i := 1; i < len(runes); i++ {
		begins := unicode.IsUpper(runes[i]) && (unicode.IsLower(runes[i-1]) ||
			i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if begins {
			words = append(words, string(runes[start:i]))
			start = i
		}
	}
	return append(words, string(runes[start:]))
}

// groups are what settings are about, by the first of each.
var groups = map[string]string{
	"maxResponseTokens": "What an agent reads", "cacheTTLSeconds": "What is kept", "maxCallsPerAgent": "Limits for each agent",
	"redact": "Secrets, and calls that proxy_* tools make", "trustHints": "Tools that change, and lists of tools", "askTokens": "Sub-model, programs and tools made at run time", "stateDir": "Folders",
	"maxLineBytes": "Time and memory", "logLevel": "Log, audit log and metrics", "uiToken": "Over HTTP",
}

// Group is what s is about, a title for help. The settings of a group are neighbours.
func (s Setting) Group() (title string) {
	for _, each := range Settings() {
		title = cmp.Or(groups[each.Name], title)
		if each.Name == s.Name {
			break
		}
	}
	return title
}

// isSetting reports whether name is that of a setting.
func isSetting(name string) bool {
	return slices.ContainsFunc(Settings(), func(s Setting) bool { return s.Name == name })
}

// What is below or above these is a slip of the unit or of the finger.
const (
	leastTokens  = 50          // the first line of a cut result and its next call take about 60
	mostTokens   = 100_000_000 // far above the longest message
	leastTimeout = 100 * time.Millisecond
	leastQuery   = 10 * time.Millisecond
)

// Settings describes every key of proxySettings, in the order in which to
// show them. No other place states a default.
func Settings() []Setting {
	const (
		boolean  = "true|false"
		mostHeld = 1_000_000 // results, agents: more is a slip, for each takes memory
		month    = 30 * 24 * time.Hour
	)
	return []Setting{
		{"maxResponseTokens", "2000", "tokens", "largest result passed on whole; a larger one is cached, and the agent gets a preview", whole(leastTokens, mostTokens)},
		{"maxResponseSize", "", "characters", "older spelling of maxResponseTokens, used when that is not set", zeroOr(whole(4*leastTokens, 4*mostTokens))},
		{"maxResponseTokensByKind", "source=6000,markdown=6000,config=6000,diff=6000", unitKinds, "the same limit for kinds of text that agents read whole; the default counts only where maxResponseTokens is not set", kinds},
		{"maxWholeTokens", "25000", "tokens", "largest reply to proxy_filter with whole; a preview of a longer text does not begin with its first page", whole(leastTokens, mostTokens)},
		{"enableAutoTruncation", "true", boolean, "cut and cache results over the limit", truth},
		{"maxPreviewTokens", "", "tokens", "largest preview of a cut result; without it, half the limit", whole(leastTokens/2, mostTokens)},
		{"enableLossless", "true", boolean, "send a result over the limit whole, if it fits when written shorter without loss", truth},
		{"enableDifferences", "true", boolean, "if a session has seen a result within its last 20 replies, send only what has changed", truth},
		{"cacheTTLSeconds", "3600", "seconds", "how long a cached result is kept after it was last read", durationIn(time.Second, month)},
		{"cacheMaxEntries", "", "results", "older spelling of maxEntriesPerAgent, used when agents are not isolated", whole(0, mostHeld)},
		{"enableAgentIsolation", "true", boolean, "keep each agent's results to itself", truth},
		{"maxEntriesPerAgent", "20", "results", "cached results that one agent may have", whole(1, mostHeld)},
		{"maxMemoryPerAgent", "100MiB", "bytes", "memory for one agent's cached results", size(1<<20, 1<<40)},
		{"maxMemory", "320MiB", "bytes", "memory for the cached results of all agents", size(1<<20, 1<<40)},
		{"maxTotalAgents", "1000", "agents", "agents with cached results at one time", whole(1, mostHeld)},
		// A host has some dozen calls at once with sub-agents of its own.
		{"maxCallsPerAgent", "256", "calls", "calls of one agent that may wait for their answers at one time", whole(1, mostHeld)},
		{"maxCallsPerMinute", "0", "calls", "calls that one agent may begin in a minute; 0 means any number", whole(0, mostHeld)},
		{"maxBytesPerAgent", "64MiB", "bytes", "memory for one agent's waiting requests, unread answers and subscriptions; twice as much for all agents", size(1<<20, 1<<40)},
		{"maxStreamsPerAgent", "100", "streams", "streams of changes (subscriptions/listen) that one agent may have open", whole(1, mostHeld)},
		{"maxSubscriptionsPerAgent", "1000", "resources", "resources that one agent may subscribe to", whole(1, mostHeld)},
		{"maxConnectionsPerAgent", "1024", "connections", "connections over HTTP that one agent may have open", whole(1, mostHeld)},
		{"redact", "off", "on|off|report", "mask secrets such as keys and tokens in what servers send; report only logs what it would mask", oneOf(redactions...)},
		{"exposure", "auto", "auto|all|search|groups", "how agents find tools: all lists them, search has the agent search for them, groups does so and says what each server is for, auto searches only if the list would be too long", oneOf(Exposures...)},
		{"maxCatalogueTokens", "20000", "tokens", "with exposure auto: the longest list of tools that agents still get", whole(0, mostTokens)},
		{"listFoundTools", "false", boolean, "add a tool to the list of a session when its agent asks for its description", truth},
		{"compactSchemas", "false", boolean, "leave out of listed definitions what adds nothing, such as $schema", truth},
		{"readOnly", "false", boolean, "offer only tools that declare readOnlyHint, which is the server's own word", truth},
		{"freshCalls", "ask", "ask|readonly|all|none", "servers' tools that proxy_* tools may call: trusted ones; with ask, also those that the person agrees to", oneOf("ask", "readonly", "all", "none")},
		{"enableHealing", "true", boolean, "if an agent asks for a result that has expired or was evicted, make its call again, where the tool declares readOnlyHint and proxy_* tools may call it", truth},
		{"enableHandles", "true", boolean, "replace a string rlmproxy://cache/ID in a tool's arguments by the cached result with that ID", truth},
		{"trustHints", "", boolean, "trust tools that declare readOnlyHint; without it, only tools of servers that rlmproxy starts and pins", truth},
		{"pinTools", "true", boolean, "hold back tools whose definition has changed since it was first seen", truth},
		{"quarantine", "false", boolean, "also hold back tools that were never seen", truth},
		{"keepLists", "true", boolean, "until servers have connected, offer what they offered when they were last seen", truth},
		{"keepStats", "true", boolean, "count in files what is saved, for rlmproxy stats and top", truth},
		{"enableStatsTool", "false", boolean, "offer agents the tool proxy_stats, and the resource rlmproxy://stats in their lists", truth},
		{"enableUpstreamTool", "false", boolean, "offer the client at stdin and stdout the tool proxy_upstreams, which lists, adds, changes and removes servers of mcp.json", truth},
		{"askTokens", "500000", "tokens", "tokens of the sub-model that one question may take", whole(1000, mostTokens)},
		{"askCalls", "500", "calls", "calls of the sub-model that one question may make", whole(1, mostHeld)},
		{"askTimeout", "5m", "seconds", "how long one question may take", durationIn(leastTimeout, 24*time.Hour)},
		{"askTokensPerHour", "2000000", "tokens", "tokens of the sub-model that one agent may take in an hour", whole(1000, mostTokens)},
		{"askCallsPerHour", "2000", "calls", "calls of the sub-model that one agent may make in an hour", whole(1, mostHeld)},
		{"code", "false", boolean, "offer agents the tool proxy_run, which runs programs in JavaScript over results", truth},
		{"runtimeTools", "false", boolean, "offer agents that may use everything the tool proxy_tools, which makes tools for all agents", truth},
		{"registryURL", "", unitURL, "PostgreSQL that keeps these tools for several proxies, such as postgres://host/database; without it, the folder for state does; set one with a password in the environment", registryURL},
		{"containerImage", "docker.io/library/node:22-slim", unitText, "image with Node.js for tools with engine container", word},
		{"stateDir", "", unitFile, "folder for pins, sign-ins, statistics and what servers offered last; without it, rlmproxy in the system's folder for state", word},
		{"cacheDir", "", unitFile, "folder that keeps cached results over a restart; without it, they are lost", word},
		{"cacheURL", "", unitURL, "Redis or Valkey that several replicas share for cached results, sessions and limits, such as redis://host:6379; set one with a password in the environment", storeURL},
		{"fleetName", "rlmproxy", unitText, "with cacheURL: name of the replicas that belong together, where several fleets use one store", fleetName},
		{"fleetKey", "", unitSecret, "with cacheURL: secret of all replicas that IDs of cached results are made and sign-ins are sealed with, in place of one that is kept in the store; set in the environment only", longSecret},
		// 64 MiB is forty times the largest result met in practice (1.5 MB).
		{"maxLineBytes", "64MiB", "bytes", "longest message accepted, from a server or the client", size(64<<10, 1<<30)},
		// As long as clients of the TypeScript SDK wait.
		{"callTimeout", "60s", "seconds", "how long a server may take for one call", durationIn(leastTimeout, 24*time.Hour)},
		{"jqTimeout", "5s", "seconds", "how long one jq program may run", durationIn(leastQuery, time.Hour)},
		// A document of 64 MiB makes a tree of some 400 MiB.
		{"jqMemory", "768MiB", "bytes", "memory of one jq worker; there are at most two, and a program that needs more fails", size(64<<20, 1<<40)},
		{"searchTimeout", "5s", "seconds", "how long one search may run", durationIn(leastQuery, time.Hour)},
		{"logLevel", "info", "debug|info|warn|error", "lowest level that is logged", oneOf("debug", "info", "warn", "error")},
		{"auditFile", "", unitFile, `file that gets a line of JSON for each call; "-" is stderr`, word},
		{"auditMaxSize", "100MiB", "bytes", "size at which that file is renamed to .1 (.1 to .2, and so on) and a new one begins", size(64<<10, 1<<40)},
		{"auditFiles", "5", "files", "how many renamed files are kept", whole(0, 1000)},
		{"auditContent", "none", "none|arguments|all", "what the lines hold in addition, with secrets masked: arguments, or all: arguments and results", oneOf("none", "arguments", "all")},
		{"metricsToken", "", unitSecret, "bearer token for /metrics, which serve --http has only with it; set in the environment only", word},
		{"metricsAddress", "", unitText, "serve /metrics at an address of its own: host:port, or a port of 127.0.0.1", listenAddress},
		{"uiToken", "", unitSecret, "key of the page /ui, in place of one that rlmproxy makes; set in the environment only", word},
		{"httpTokensFile", "", unitFile, "file of bearer tokens for HTTP, one per line: the agent, a colon, its token", word},
		{"httpTokens", "", unitSecret, "the same tokens, separated by commas; set in the environment only", word},
		{"httpJWTIssuer", "", unitURL, "admit JSON web tokens of this issuer", address},
		{"httpJWTAudience", "", unitText, "audience that such a token must have; without it, httpPublicURL", word},
		{"httpJWTKeysURL", "", unitURL, "URL of the issuer's keys (JWKS); without it, the URL that the issuer's metadata names", address},
		{"httpJWTAgentClaim", "sub", unitText, "claim of such a token that names the agent", word},
		{"httpPublicURL", "", unitURL, "URL at which clients reach the endpoint, such as https://mcp.example.com/mcp", address},
		{"httpAllowedHosts", "", unitList, "further host names of this server, besides loopback names and that of httpPublicURL", list(isHost, `a name such as "mcp.example.com" or "mcp.example.com:8080"`)},
		{"httpAllowedOrigins", "", unitList, "origins of browser pages that may use this server, besides its own", list(isOrigin, `an origin such as "https://inspector.example.com"`)},
		{"httpSocketMode", "0600", unitMode, "permissions of the socket of --http unix:/path, as chmod takes them", fileMode},
		// Agents that wait for a person come back within half an hour, mostly.
		{"sessionIdleSeconds", "1800", "seconds", "how long a session over HTTP lasts without a request or an open stream", durationIn(time.Second, month)},
		// Docker kills ten seconds after it has asked a container to end.
		{"drainSeconds", "5", "seconds", "how long calls over HTTP may continue after the proxy was told to end (SIGTERM); meanwhile /readyz says no", durationIn(0, time.Hour)},
		// A client that was cut off comes back after a second or so, and a few times.
		{"sessionResumeSeconds", "10", "seconds", "how long calls over HTTP continue for a client that was cut off, so that it can resume the stream", durationIn(time.Second, 10*time.Minute)},
	}
}
