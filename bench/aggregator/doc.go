// Package aggregator times a call over HTTP through the proxy beside the same call
// through a plain aggregator, a few dozen lines on mark3labs/mcp-go: an MCP server over
// streamable HTTP in front of a server over stdio, as TBXark/mcp-proxy is one.
//
// It is a module of its own, so that mcp-go is no dependency of the proxy. There is no
// code outside of tests.
package aggregator
