package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"golang.org/x/time/rate"

	"rlmproxy/middleware/traces"
)

// openTraces begins to trace if the environment asks for it; else it returns nil. What it
// asks for may be meant for other programs, so nothing of it stops the start.
func openTraces(who audience, logger *slog.Logger) *traces.Tracer {
	if who == nobody {
		return nil
	}
	wanted, err := traces.Wanted(os.Getenv)
	var t *traces.Tracer
	if wanted {
		failed := rate.Sometimes{First: 1, Interval: time.Minute}
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
			failed.Do(func() { logger.Warn("traces", "error", err) })
		}))
		t, err = traces.New(context.Background(), version())
	}
	if err != nil {
		logger.Warn(fmt.Sprintf("there are no traces: %v", err))
		return nil
	}
	return t
}

// tracesTime is how long the last spans may take to get away.
const tracesTime = 2 * time.Second
