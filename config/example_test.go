package config_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"rlmproxy/config"
)

// file writes an mcp.json into a new folder, and returns the folder.
func file(text string) string {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mcp.json"), []byte(text), 0o600); err != nil {
		log.Fatal(err)
	}
	return dir
}

func ExampleLoad() {
	dir := file(`{
	// comments and trailing commas are fine
	"mcpServers": {
		"files": {"command": "npx", "args": ["server-filesystem", "${FOLDER:-.}"], "timeout": "90s"},
	},
	"proxySettings": {"maxResponseTokens": 3000},
}`)
	defer os.RemoveAll(dir)
	c, err := config.Load(config.Options{
		Dir:     dir,
		Environ: []string{"FOLDER=/srv", "RLMPROXY_MAX_RESPONSE_TOKENS=1000"},
	})
	if err != nil {
		log.Fatal(err)
	}
	s := c.Servers[0]
	fmt.Println(s.Name, s.Type, s.Command, s.Args, s.Timeout)
	fmt.Println("environment over file:", c.Proxy.MaxResponseTokens)
	fmt.Println("default:", c.Proxy.CacheTTL)
	// Output:
	// files stdio npx [server-filesystem /srv] 1m30s
	// environment over file: 1000
	// default: 1h0m0s
}

// Every mistake is reported at once, with its place in the file.
func ExampleLoad_mistakes() {
	dir := file(`{
  "mcpServers": {"files": {"comand": "npx"}},
  "proxySettings": {"maxResponseToken": 3000, "logLevel": "loud"}
}`)
	defer os.RemoveAll(dir)
	_, err := config.Load(config.Options{Dir: dir})
	fmt.Println(err)
	// Output:
	// mcp.json:2:28: mcpServers.files.comand: unknown key; did you mean "command"?
	// mcp.json:3:21: proxySettings.maxResponseToken: unknown key; did you mean "maxResponseTokens"?
	// mcp.json:3:59: proxySettings.logLevel: expected one of debug, info, warn, error, found "loud"
}

func ExampleSingle() {
	c, err := config.Single(config.Server{Name: "git", Type: "stdio", Command: "mcp-server-git"}, config.Options{})
	fmt.Println(c.Servers[0].Command, c.Servers[0].Timeout, err)
	// Output: mcp-server-git 1m0s <nil>
}

func ExampleServer_SetHeaders() {
	var s config.Server
	err := s.SetHeaders([]string{"authorization: Bearer ${TOKEN}"}, config.Options{Environ: []string{"TOKEN=sesame"}})
	fmt.Println(s.Headers, err)
	// An error holds no value, which may be a secret.
	err = s.SetHeaders([]string{"Authorization: Bearer ${TOKEN}"}, config.Options{})
	fmt.Println(err)
	// Output:
	// map[Authorization:Bearer sesame] <nil>
	// Authorization: ${TOKEN} is not set
}

func ExampleSettings() {
	for _, s := range config.Settings()[:2] {
		fmt.Printf("%s --%s=%q %s\n", s.Env(), s.Flag(), s.Default, s.Unit)
	}
	// Output:
	// RLMPROXY_MAX_RESPONSE_TOKENS --max-response-tokens="2000" tokens
	// RLMPROXY_MAX_RESPONSE_SIZE --max-response-size="" characters
}
