// Package config turns mcp.json, the environment and flags into one checked
// [Config].
//
//	defaults < file < RLMPROXY_* < flags → Load → Config, or every mistake at once
//
// The file is the one that MCP hosts already write ("mcpServers"), with
// comments and trailing commas allowed, plus "proxySettings". Keys of other
// hosts are left alone; a mistake in ours stops the start. A value from env,
// headers, httpTokens, metricsToken or uiToken never appears in an error or a
// warning: it may be a secret.
//
// Sizes are bytes, unless a name says characters or tokens.
package config

import (
	"fmt"
	"io"
	"time"
)

// A Config is everything that an operator can decide.
type Config struct {
	// Path is the file as an absolute path, or "" when there was none.
	Path    string
	Servers []Server // in the file's order
	Proxy   Proxy
	// Agents is what agents may use, by name or "*" for all others, and Scopes what the
	// holders of a JSON web token may that was issued for them. Nil: the file does not say.
	Agents, Scopes map[string]Rights
	// SubModel is what proxy_ask asks. Nil: it is off.
	SubModel *SubModel
	// Warnings are oddities that stop nothing, one line each.
	Warnings []string
}

// A Server is one entry of mcpServers. Exactly one of Command and URL is set.
type Server struct {
	Name string // 1 to 64 characters, unique
	// Type is "stdio", "http" or "sse". With a URL it may be "": try http,
	// then sse.
	Type string

	Command string
	Args    []string
	Env     map[string]string // what it gets besides
	Cwd     string            // absolute, or "" for the proxy's own
	// InheritEnv are names of the proxy's own variables that it gets beside the usual
	// ones, which package process lists, or globs for them.
	InheritEnv []string

	URL     string
	Headers map[string]string
	Auth    Auth

	// Runs is Command and Args, or URL, with references to files and the keyring as the
	// file has them: what the server is, whatever its secrets are now. Nil: there are none.
	Runs []string
	// Secrets are the texts of 8 bytes or more that no log or error may show.
	Secrets []Secret

	// Isolation is "agent" if each agent has a process of its own, or a session
	// where there is a URL. "" and "shared" are the same: all have one.
	Isolation string
	// RateLimit and Concurrency are those of all tools together that have none of their
	// own. Zero means not set.
	RateLimit, Concurrency int
	// MaxProcesses bounds these at one time. Zero means the default, 100.
	MaxProcesses int

	Timeout  time.Duration // for one call; never zero
	Disabled bool
	// Description says what the server is for.
	Description string
	// Exposure is "auto", "all", "search" or "groups". Empty means the proxy's.
	Exposure string
	// ReadOnly leaves out tools that do not declare readOnlyHint. Nil means the proxy's.
	ReadOnly *bool
	// Features are what of the server is offered: "tools", "resources", "prompts". Nil is all.
	Features []string
	// Prefix begins the names of its tools. Nil means Name; "" means none.
	Prefix *string
	// Shape says whether large results are cut. Nil means the proxy's
	// EnableAutoTruncation.
	Shape *bool
	// MaxResponseTokens is the limit for its results. Zero means the proxy's.
	MaxResponseTokens int

	// Allow and Deny are globs over its tools' own names, as path.Match reads
	// them. An empty Allow admits every tool; Deny wins over Allow.
	Allow, Deny []string
	// FreshCalls are globs over tools that a fresh call may reach whatever they
	// declare. TrustHints says whether those that declare themselves read-only are
	// reached too; PinTools and Quarantine, whether changed and new tools are held
	// back. Nil means the proxy's setting.
	FreshCalls                       []string
	TrustHints, PinTools, Quarantine *bool
	// Hide are fields that no agent sees, whatever tool returns them.
	Hide []string
	// Redact is "on", "off" or "report". Empty means the proxy's setting.
	Redact string
	// SubModel says whether the sub-model may read its results. Nil means that it may.
	SubModel *bool
	// Handles says whether handles in its arguments are replaced. Nil means the proxy's
	// EnableHandles.
	Handles *bool
	// Tools has settings by tool name or glob. An exact name wins over globs.
	Tools map[string]Tool
}

// Auth is how the server at a URL is signed in to, as far as the server does not say.
type Auth struct {
	ClientID, ClientSecret string
	ClientMetadataURL      string // what says who we are, by its URL
	Issuer                 string
	Scopes                 []string
	RedirectPort           int  // where a browser comes back to; zero: any
	ClientCredentials      bool // the client signs in by itself
}

// Rights are globs over tools' names as agents see them. Allow nil is all tools, an empty
// Allow none; Deny wins over Allow.
type Rights struct{ Allow, Deny []string }

// A Tool is what a server's entry says about some of its tools. Zero fields
// mean the server's setting.
type Tool struct {
	Shape             *bool
	Timeout           time.Duration
	MaxResponseTokens int
	// RateLimit is how many calls a minute one agent may begin, Concurrency how many of
	// all agents run at one time. Zero means not set.
	RateLimit, Concurrency int

	// Fields, Exclude and JQ narrow every result of the tool, as
	// proxy_filter's parameters do. JQ excludes the other two.
	Fields, Exclude []string
	JQ              string
	// Hide are fields that no agent sees, on top of the server's.
	Hide []string
}

// A Proxy is proxySettings over all layers. [Settings] describes each key.
type Proxy struct {
	// MaxResponseTokens and MaxResponseSize, which counts characters, are
	// two spellings of one limit: exactly one is above zero. The later layer
	// decides which, and within a layer tokens win.
	MaxResponseTokens int `koanf:"maxResponseTokens"`
	MaxResponseSize   int `koanf:"maxResponseSize"`

	// MaxResponseTokensByKind are limits of [pipeline.Classes]; zero is that of other kinds.
	MaxResponseTokensByKind map[string]int `koanf:"maxResponseTokensByKind"`
	MaxWholeTokens          int            `koanf:"maxWholeTokens"`

	EnableAutoTruncation bool `koanf:"enableAutoTruncation"`
	EnableLossless       bool `koanf:"enableLossless"`
	EnableDifferences    bool `koanf:"enableDifferences"`
	MaxPreviewTokens     int  `koanf:"maxPreviewTokens"` // zero: half the limit

	CacheTTL time.Duration `koanf:"cacheTTLSeconds"`
	// CacheMaxEntries, when set, has replaced MaxEntriesPerAgent if agents
	// are not isolated. Otherwise it has no effect. Zero means not set.
	CacheMaxEntries      int   `koanf:"cacheMaxEntries"`
	EnableAgentIsolation bool  `koanf:"enableAgentIsolation"`
	MaxEntriesPerAgent   int   `koanf:"maxEntriesPerAgent"`
	MaxMemoryPerAgent    int64 `koanf:"maxMemoryPerAgent"`
	MaxMemory            int64 `koanf:"maxMemory"` // over all agents
	MaxTotalAgents       int   `koanf:"maxTotalAgents"`

	MaxCallsPerAgent   int   `koanf:"maxCallsPerAgent"`  // at one time
	MaxCallsPerMinute  int   `koanf:"maxCallsPerMinute"` // of one agent; zero: any number
	MaxBytesPerAgent   int64 `koanf:"maxBytesPerAgent"`
	MaxStreamsPerAgent int   `koanf:"maxStreamsPerAgent"`

	MaxSubscriptionsPerAgent int `koanf:"maxSubscriptionsPerAgent"`
	MaxConnectionsPerAgent   int `koanf:"maxConnectionsPerAgent"` // over HTTP

	Redact string `koanf:"redact"` // "on", "off" or "report"

	// FreshCalls is "ask", "readonly", "all" or "none".
	FreshCalls string `koanf:"freshCalls"`
	// Exposure is "auto", "all", "search" or "groups".
	Exposure           string `koanf:"exposure"`
	MaxCatalogueTokens int    `koanf:"maxCatalogueTokens"`
	ListFoundTools     bool   `koanf:"listFoundTools"`
	CompactSchemas     bool   `koanf:"compactSchemas"`
	ReadOnly           bool   `koanf:"readOnly"`

	EnableHealing bool  `koanf:"enableHealing"`
	EnableHandles bool  `koanf:"enableHandles"`
	TrustHints    *bool `koanf:"trustHints"` // nil: of servers that are started here and pinned
	PinTools      bool  `koanf:"pinTools"`
	Quarantine    bool  `koanf:"quarantine"`
	KeepLists     bool  `koanf:"keepLists"`
	KeepStats     bool  `koanf:"keepStats"`
	// EnableStatsTool offers proxy_stats.
	EnableStatsTool bool `koanf:"enableStatsTool"`
	// EnableUpstreamTool offers proxy_upstreams.
	EnableUpstreamTool bool `koanf:"enableUpstreamTool"`

	// AskTokens, AskCalls and AskTimeout bound one question to the sub-model; the others what one
	// agent may ask.
	AskTokens        int           `koanf:"askTokens"`
	AskCalls         int           `koanf:"askCalls"`
	AskTimeout       time.Duration `koanf:"askTimeout"`
	AskTokensPerHour int           `koanf:"askTokensPerHour"`
	AskCallsPerHour  int           `koanf:"askCallsPerHour"`
	// Code offers proxy_run, RuntimeTools proxy_tools, whose tools are in the Postgres at
	// RegistryURL or, without it, in the state folder. RegistryURL may hold a password.
	Code           bool   `koanf:"code"`
	RuntimeTools   bool   `koanf:"runtimeTools"`
	RegistryURL    Secret `koanf:"registryURL"`
	ContainerImage string `koanf:"containerImage"` // never empty

	StateDir string `koanf:"stateDir"` // a path; "": where the system keeps such
	CacheDir string `koanf:"cacheDir"` // a path; "": results are in memory only
	// CacheURL is a Redis or Valkey that replicas share, as package fleet takes it, or "".
	// It may hold a password. FleetName is never empty.
	CacheURL     Secret `koanf:"cacheURL"`
	FleetName    string `koanf:"fleetName"`
	FleetKey     Secret `koanf:"fleetKey"`
	MaxLineBytes int    `koanf:"maxLineBytes"` // the longest upstream message

	CallTimeout   time.Duration `koanf:"callTimeout"`
	JQTimeout     time.Duration `koanf:"jqTimeout"`
	SearchTimeout time.Duration `koanf:"searchTimeout"`
	JQMemory      int64         `koanf:"jqMemory"` // of one worker process

	// AuditFile is where calls are logged: a path, [Stderr], or "" for nowhere. Of the
	// files that are full, AuditFiles are kept. AuditContent is "none", "arguments" or
	// "all".
	AuditFile    string `koanf:"auditFile"`
	AuditMaxSize int64  `koanf:"auditMaxSize"`
	AuditFiles   int    `koanf:"auditFiles"`
	AuditContent string `koanf:"auditContent"`

	// MetricsAddress is a host and a port, or "" for none but that of HTTP, where
	// MetricsToken is asked for.
	MetricsAddress string `koanf:"metricsAddress"`
	MetricsToken   Secret `koanf:"metricsToken"`

	// UIToken is the key of the page /ui, or "" for the one in the state folder.
	UIToken Secret `koanf:"uiToken"`

	// LogLevel is "debug", "info", "warn" or "error".
	LogLevel string `koanf:"logLevel"`

	// How clients that come over HTTP are told apart: package middleware/auth
	// reads and checks these. HTTPTokensFile is a path. HTTPJWTAgentClaim is
	// never empty, and without HTTPJWTIssuer the other three of JWT say nothing.
	HTTPTokensFile     string   `koanf:"httpTokensFile"`
	HTTPTokens         Secret   `koanf:"httpTokens"`
	HTTPJWTIssuer      string   `koanf:"httpJWTIssuer"`
	HTTPJWTAudience    string   `koanf:"httpJWTAudience"`
	HTTPJWTKeysURL     string   `koanf:"httpJWTKeysURL"`
	HTTPJWTAgentClaim  string   `koanf:"httpJWTAgentClaim"`
	HTTPPublicURL      string   `koanf:"httpPublicURL"`
	HTTPAllowedHosts   []string `koanf:"httpAllowedHosts"`
	HTTPAllowedOrigins []string `koanf:"httpAllowedOrigins"`
	HTTPSocketMode     int64    `koanf:"httpSocketMode"` // permissions, up to 0777

	SessionIdle   time.Duration `koanf:"sessionIdleSeconds"`
	SessionResume time.Duration `koanf:"sessionResumeSeconds"`
	Drain         time.Duration `koanf:"drainSeconds"`
}

// Stderr stands for stderr where a file could be named.
const Stderr = "-"

// A Secret is text that does not show when it is printed, logged or marshalled.
type Secret string

const notShown = "(not shown)"

// Format prints the same whatever s is and whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, notShown) }

// MarshalText is what slog and encoding/json write.
func (s Secret) MarshalText() ([]byte, error) { return []byte(notShown), nil }
