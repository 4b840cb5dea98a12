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
	"redact": "Secrets, and calls that proxy_* tools make", "trustHints": "Tools that change, and lists of tools", "stateDir": "Folders",
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
		{"maxResponseTokens", "2000", "tokens", "largest result handed on whole; a larger one is cached and previewed", whole(leastTokens, mostTokens)},
		{"maxResponseSize", "", "characters", "older spelling of maxResponseTokens, used when that is not set", zeroOr(whole(4*leastTokens, 4*mostTokens))},
		{"maxResponseTokensByKind", "source=6000,markdown=6000,config=6000,diff=6000", unitKinds, "the same for kinds of text that are read whole; without it, none where the limit is set", kinds},
		{"maxWholeTokens", "25000", "tokens", "largest reply to a call with whole; a longer text is not taken for one that is read to its end", whole(leastTokens, mostTokens)},
		{"enableAutoTruncation", "true", boolean, "cut and cache results over the limit", truth},
		{"maxPreviewTokens", "", "tokens", "most that the preview of a cut result takes; without it, half the limit", whole(leastTokens/2, mostTokens)},
		{"enableLossless", "true", boolean, "send a result over the limit whole if a form that loses nothing fits", truth},
		{"enableDifferences", "true", boolean, "say of a result that a session was shown within the last 20 replies that it is the same, or what has changed", truth},
		{"cacheTTLSeconds", "3600", "seconds", "how long a cached result is kept after it was last read", durationIn(time.Second, month)},
		{"cacheMaxEntries", "", "results", "older spelling of maxEntriesPerAgent, used when agents are not isolated", whole(0, mostHeld)},
		{"enableAgentIsolation", "true", boolean, "keep each agent's results to itself", truth},
		{"maxEntriesPerAgent", "20", "results", "cached results that one agent may have", whole(1, mostHeld)},
		{"maxMemoryPerAgent", "100MiB", "bytes", "memory for one agent's cached results", size(1<<20, 1<<40)},
		{"maxMemory", "320MiB", "bytes", "memory for the cached results of all agents", size(1<<20, 1<<40)},
		{"maxTotalAgents", "1000", "agents", "agents with cached results at one time", whole(1, mostHeld)},
		// A host has some dozen calls at once with sub-agents of its own.
		{"maxCallsPerAgent", "256", "calls", "calls of one agent that may wait for their answers at one time", whole(1, mostHeld)},
		{"maxCallsPerMinute", "0", "calls", "calls that one agent may begin in a minute; 0 is any number", whole(0, mostHeld)},
		{"maxBytesPerAgent", "64MiB", "bytes", "memory for one agent's waiting requests, unread answers and subscriptions; twice as much for all agents", size(1<<20, 1<<40)},
		{"maxStreamsPerAgent", "100", "streams", "streams of changes (subscriptions/listen) that one agent may have open", whole(1, mostHeld)},
		{"maxSubscriptionsPerAgent", "1000", "resources", "resources that one agent may subscribe to", whole(1, mostHeld)},
		{"maxConnectionsPerAgent", "1024", "connections", "connections over HTTP that one agent may have open", whole(1, mostHeld)},
		{"redact", "off", "on|off|report", "mask secrets such as keys and tokens in what servers send; report only logs what it would mask", oneOf(redactions...)},
		{"exposure", "auto", "auto|all|search|groups", "how agents come to know tools: all are listed, or an agent searches for them; groups also lists the servers, and auto searches where the list would be long", oneOf(Exposures...)},
		{"maxCatalogueTokens", "20000", "tokens", "longest list of tools that exposure auto does not replace by a search", whole(0, mostTokens)},
		{"listFoundTools", "false", boolean, "add tools to the list of a session once its agent has had them described, for clients that read the list again", truth},
		{"compactSchemas", "false", boolean, "list tools without what says nothing in their schemas, such as $schema", truth},
		{"readOnly", "false", boolean, "offer only tools that declare readOnlyHint, which is the server's own word", truth},
		{"freshCalls", "ask", "ask|readonly|all|none", "upstream tools that proxy_* tools may call anew: trusted ones, with ask also what the person agrees to", oneOf("ask", "readonly", "all", "none")},
		{"enableHealing", "true", boolean, "make the call again whose result is asked for and has expired or was evicted, if its tool is one that proxy_* may call and declares readOnlyHint", truth},
		{"enableHandles", "true", boolean, "replace string arguments of tools that are rlmproxy://cache/ID by what the cache keeps under that ID", truth},
		{"trustHints", "", boolean, "trust tools that declare readOnlyHint; without it, those of servers that are started here and pinned", truth},
		{"pinTools", "true", boolean, "hold back tools whose definition has changed since it was first seen", truth},
		{"quarantine", "false", boolean, "hold back tools that were never seen, too", truth},
		{"keepLists", "true", boolean, "offer what servers offered when they were last seen until they have connected", truth},
		{"keepStats", "true", boolean, "count in files what is saved, for rlmproxy stats and top", truth},
		{"enableStatsTool", "false", boolean, "offer agents the tool proxy_stats, and the resource rlmproxy://stats in their lists", truth},
		{"enableUpstreamTool", "false", boolean, "offer the client at stdin and stdout the tool proxy_upstreams, which lists, adds, changes and removes servers of mcp.json", truth},
		{"stateDir", "", unitFile, "folder for what is known of servers; without it, rlmproxy where the system keeps state", word},
		{"cacheDir", "", unitFile, "folder in which cached results outlast the proxy; without it, they are lost at a restart", word},
		// 64 MiB is forty times the largest result met in practice (1.5 MB).
		{"maxLineBytes", "64MiB", "bytes", "longest message accepted, from a server or the client", size(64<<10, 1<<30)},
		// As long as clients of the TypeScript SDK wait.
		{"callTimeout", "60s", "seconds", "how long an upstream may take over one call", durationIn(leastTimeout, 24*time.Hour)},
		{"jqTimeout", "5s", "seconds", "how long one jq program may run", durationIn(leastQuery, time.Hour)},
		// A document of 64 MiB makes a tree of some 400 MiB.
		{"jqMemory", "768MiB", "bytes", "memory of one jq worker, of which there are two at most; a program that needs more fails", size(64<<20, 1<<40)},
		{"searchTimeout", "5s", "seconds", "how long one search may run", durationIn(leastQuery, time.Hour)},
		{"logLevel", "info", "debug|info|warn|error", "least level that is logged", oneOf("debug", "info", "warn", "error")},
		{"auditFile", "", unitFile, `log a line of JSON for each call here; "-" is stderr`, word},
		{"auditMaxSize", "100MiB", "bytes", "size at which that file is renamed to end in .1, .1 to .2 and so on, and another begins", size(64<<10, 1<<40)},
		{"auditFiles", "5", "files", "of the renamed ones, how many are kept", whole(0, 1000)},
		{"auditContent", "none", "none|arguments|all", "what was said that the lines have besides, masked: arguments, or results too", oneOf("none", "arguments", "all")},
		{"metricsToken", "", unitSecret, "bearer token for /metrics, which over HTTP is there with it; in the environment only", word},
		{"metricsAddress", "", unitText, "serve /metrics at an address of its own: host:port, or a port of 127.0.0.1", listenAddress},
		{"uiToken", "", unitSecret, "key of the page /ui, in place of one that is made; in the environment only", word},
		{"httpTokensFile", "", unitFile, "bearer tokens for HTTP, a line each: the agent, a colon, its token", word},
		{"httpTokens", "", unitSecret, "as in httpTokensFile, with commas for lines; in the environment only", word},
		{"httpJWTIssuer", "", unitURL, "admit JSON web tokens of this issuer", address},
		{"httpJWTAudience", "", unitText, "what such a token must be for; without it, httpPublicURL", word},
		{"httpJWTKeysURL", "", unitURL, "where the issuer's keys (JWKS) are; without it, where the issuer says", address},
		{"httpJWTAgentClaim", "sub", unitText, "claim of such a token that names the agent", word},
		{"httpPublicURL", "", unitURL, "where clients reach the endpoint, as in https://mcp.example.com/mcp", address},
		{"httpAllowedHosts", "", unitList, "names that clients may call this server by, besides loopback names and that of httpPublicURL", list(isHost, `a name such as "mcp.example.com" or "mcp.example.com:8080"`)},
		{"httpAllowedOrigins", "", unitList, "origins of browser pages that may use it, besides its own", list(isOrigin, `an origin such as "https://inspector.example.com"`)},
		{"httpSocketMode", "0600", unitMode, "permissions of the socket of --http unix:/path, as chmod takes them", fileMode},
		// Agents that wait for a person come back within half an hour, mostly.
		{"sessionIdleSeconds", "1800", "seconds", "how long a session over HTTP lasts without a request or an open stream", durationIn(time.Second, month)},
		// A client that was cut off comes back after a second or so, and a few times.
		{"sessionResumeSeconds", "10", "seconds", "how long calls over HTTP go on for a client that was cut off and may resume their stream", durationIn(time.Second, 10*time.Minute)},
	}
}
