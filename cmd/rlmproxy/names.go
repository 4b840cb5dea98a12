package main

import (
	"cmp"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"rlmproxy/config"
)

// unnamed is what a server of the command line is called that has no other name.
const unnamed = "server"

// A launcher starts what one of its arguments names.
type launcher struct {
	verbs  []string // that come first
	single []string // flags without a value
	valued []string // flags whose value is the next argument
	name   *regexp.Regexp
}

// Names are read from what can be nothing else. A URL is none, for it may hold a secret.
var (
	packageName = regexp.MustCompile(`^(?:@[\w.-]+/)?([A-Za-z0-9][\w.-]*)(?:[@=\[<>~!].*)?$`)
	imageName   = regexp.MustCompile(`^(?:[\w.-]+(?::\d+)?/)?(?:[\w.-]+/)*([A-Za-z0-9][\w.-]*)(?:[:@].*)?$`)

	npx        = launcher{single: []string{"-y", "--yes", "-q", "--quiet", "--offline", "--prefer-offline", "--bun"}, valued: []string{"-p", "--package"}, name: packageName}
	uvx        = launcher{single: []string{"-q", "--quiet", "--offline", "--refresh", "--isolated"}, valued: []string{"-p", "--python", "--from", "--with"}, name: packageName}
	containers = launcher{
		verbs:  []string{"run"},
		single: []string{"-i", "-t", "-it", "-ti", "--interactive", "--tty", "--rm", "--init", "--read-only", "--privileged"},
		valued: []string{"-e", "--env", "--env-file", "-v", "--volume", "--mount", "--network", "--net", "--name", "-u", "--user", "-w", "--workdir", "-p", "--publish", "--platform", "--pull", "--entrypoint", "-m", "--memory", "--add-host"},
		name:   imageName,
	}
	launchers = map[string]launcher{"npx": npx, "bunx": npx, "pnpx": npx, "uvx": uvx, "docker": containers, "podman": containers}
)

// nameOf is what a server of the command line is called in logs and errors: by the package
// or image that it runs, else by its program or host.
func nameOf(sc config.Server) string {
	command, args := sc.Command, sc.Args
	if len(args) > 1 && programOf(sc) == "cmd" && strings.EqualFold(args[0], "/c") { // as Windows wants npx started
		command, args = args[1], args[2:]
	}
	if l, ok := launchers[strings.TrimSuffix(programOf(config.Server{Command: command}), ".cmd")]; ok {
		if name := l.launched(args); name != "" {
			return name
		}
	}
	return programOf(sc)
}

// launched is the name of what is started, or "" where that cannot be told for certain.
func (l launcher) launched(args []string) string {
	for _, verb := range l.verbs {
		if len(args) == 0 || args[0] != verb {
			return ""
		}
		args = args[1:]
	}
	for ; len(args) > 0 && strings.HasPrefix(args[0], "-"); args = args[1:] {
		switch flag, _, hasValue := strings.Cut(args[0], "="); {
		case slices.Contains(l.single, flag) || hasValue && slices.Contains(l.valued, flag):
		case slices.Contains(l.valued, flag) && len(args) > 1:
			args = args[1:]
		default:
			return ""
		}
	}
	if len(args) == 0 || len(args[0]) > 200 {
		return ""
	}
	if m := l.name.FindStringSubmatch(args[0]); m != nil && len(m[1]) <= 64 {
		return m[1]
	}
	return ""
}

// programOf is the name of a server's program or host.
func programOf(sc config.Server) string {
	name := ""
	if sc.URL == "" {
		name = strings.TrimSuffix(filepath.Base(sc.Command), ".exe")
	} else if u, err := url.Parse(sc.URL); err == nil {
		name = u.Hostname()
	}
	return cmp.Or(name, unnamed)
}
