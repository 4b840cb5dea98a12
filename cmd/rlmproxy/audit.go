package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"rlmproxy/cmd/rlmproxy/terminal"
	"rlmproxy/config"
	"rlmproxy/middleware/audit"
	"rlmproxy/pipeline/redact"
)

// A visibleWriter writes lines of JSON for somebody at a terminal: clients and agents
// choose the names in them.
type visibleWriter struct{ w io.Writer }

func (v visibleWriter) Write(line []byte) (int, error) {
	if _, err := io.WriteString(v.w, terminal.Visible(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}

// maskTime bounds the search for secrets in a line.
const maskTime = time.Second

// masked is arguments, or a result, without secrets that are known by their form or by
// the names of their fields; nothing of what cannot be searched in time.
func masked(raw json.RawMessage) json.RawMessage {
	ctx, cancel := context.WithTimeout(context.Background(), maskTime)
	defer cancel()
	known, _, err := redact.JSON(ctx, raw)
	if err != nil {
		return json.RawMessage(`"(not searched for secrets in time)"`)
	}
	return audit.Mask(known)
}

// openAudit opens the log of calls, nil if none is wanted. Who wants one does not serve
// without it.
func openAudit(p config.Proxy, logger *slog.Logger) (*audit.Log, error) {
	if p.AuditFile == "" {
		return nil, nil
	}
	opts := audit.Options{
		File: p.AuditFile, MaxBytes: p.AuditMaxSize, Files: p.AuditFiles,
		Content: audit.Content(p.AuditContent),
		Redact:  masked,
		Logger:  logger,
	}
	if p.AuditFile == config.Stderr {
		opts.File, opts.Stderr = "", visibleWriter{os.Stderr}
	}
	dir, _, err := stateDir(p)
	if err == nil {
		opts.Key, err = audit.Key(dir)
	}
	if err != nil {
		return nil, &usageError{fmt.Errorf("auditFile: the key of its hashes: %w", err), "name a folder for it in stateDir (RLMPROXY_STATE_DIR)"}
	}
	log, err := audit.New(opts)
	if err != nil {
		return nil, &usageError{fmt.Errorf("auditFile: %w", err), "name a file in a folder that is there and that you can write to"}
	}
	return log, nil
}
