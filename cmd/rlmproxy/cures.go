package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"rlmproxy/config"
	"rlmproxy/middleware/pin"
	"rlmproxy/middleware/upstream/process"
	"rlmproxy/middleware/upstream/transport"
	"rlmproxy/pipeline/show"
)

// failure says why a server is not there, and what to do about it.
func (d *doctor) failure(sc config.Server, err error) (text, cure string) {
	text = err.Error()
	entry := "mcpServers." + sc.Name
	var signIn *transport.SignInError
	var status *transport.StatusError
	var start *process.StartError
	switch {
	case servesFile(sc, d.cfg.Path):
		return "it is rlmproxy with this same file, and would start itself without end", "remove " + entry + ": it belongs in the client's own file"
	case errors.As(err, &signIn) && sc.Auth.ClientCredentials:
		return signIn.Text, "correct clientId and clientSecret in " + entry + ".auth"
	case errors.As(err, &signIn):
		return signIn.Text, "rlmproxy auth login " + pin.Quoted(sc.Name) + d.flags
	case errors.As(err, &status):
		text, _, _ = strings.Cut(text, "; ")
		return text, d.refused(sc, status)
	case errors.As(err, &start) && sc.Cwd != "" && !isFolder(sc.Cwd):
		return text, fmt.Sprintf(`mkdir -p %s, or set another "cwd" in %s`, pin.Quoted(sc.Cwd), entry)
	case errors.As(err, &start):
		text, cure, _ = strings.Cut(text, "; ")
		return text, cmp.Or(cure, `correct "command" in `+entry)
	case sc.URL != "":
		return text, `start the server there, or correct "url" in ` + entry
	}
	for _, name := range variable.FindAllString(text, -1) {
		if _, given := sc.Env[name]; given || !strings.Contains(name, "_") || errorCode.MatchString(name) {
			continue
		}
		if _, set := os.LookupEnv(name); set {
			return text, fmt.Sprintf(`set "inheritEnv": [%s] in %s`, show.Quote(name), entry)
		}
		return text, fmt.Sprintf(`rlmproxy secret set %s, and set "env": {%s: "${keyring:%s}"} in %s`, name, show.Quote(name), name, entry)
	}
	return text, d.listen(sc)
}

// servesFile reports whether a server is a proxy that serves the file at path.
func servesFile(sc config.Server, path string) bool {
	if strings.TrimSuffix(filepath.Base(sc.Command), ".exe") != "rlmproxy" || len(sc.Args) > 0 && sc.Args[0] != "serve" && sc.Args[0][0] != '-' {
		return false
	}
	for i, arg := range sc.Args {
		file, named := strings.CutPrefix(arg, "--config=")
		if (arg == "--config" || arg == "-c") && i+1 < len(sc.Args) {
			file, named = sc.Args[i+1], true
		}
		if named {
			is, err := filepath.Abs(file)
			return err == nil && is == path
		}
	}
	return true
}

// variable is a word that looks like the name of a variable that a server asks for.
var variable = regexp.MustCompile(`\b[A-Z][A-Z0-9_]{2,}\b`)

// errorCode matches the names of errors, as Node.js has them, which look like variables.
var errorCode = regexp.MustCompile(`^(ERR|E|ERROR)_|_(NOT_FOUND|ERROR|INVALID|FAILED|EXPIRED|CERT|IN_CHAIN|SIGNATURE)$|^(NODE_MODULE_VERSION|MODULE_NOT_FOUND)$`)

// refused is what helps against an answer of HTTP.
func (d *doctor) refused(sc config.Server, status *transport.StatusError) string {
	entry := "mcpServers." + sc.Name
	switch {
	case status.WantsCredentials() && sc.HasAuthorization():
		return "put valid credentials in " + entry + ".headers"
	case status.WantsCredentials():
		return fmt.Sprintf(`rlmproxy secret set %s, and set "headers": {"Authorization": "Bearer ${keyring:%s}"} in %s`, pin.Quoted(sc.Name), sc.Name, entry)
	case status.Code == http.StatusTooManyRequests || status.Code >= 500:
		return "try again later, or ask who runs the server"
	}
	return `correct "url" in ` + entry + `; "type" may be "http" or "sse"`
}

// slow is what helps where a server does not answer.
func (d *doctor) slow(sc config.Server) string {
	if sc.URL != "" {
		return `correct "url" in mcpServers.` + sc.Name + ", or ask who runs the server"
	}
	return "try again: its first start may download it. " + d.listen(sc)
}

// listen is how to hear more of a server.
func (d *doctor) listen(sc config.Server) string {
	if d.cfg.Path == "" {
		return "run its command by itself, and read what it says"
	}
	return fmt.Sprintf("read what it says: rlmproxy tools%s --log-level info 2>&1 | grep server=%s", d.flags, pin.Quoted(sc.Name))
}
