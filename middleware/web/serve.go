package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	// headerTime is how long a client may take to send the headers of a request, and
	// likewise a body that nobody reads; keepTime how long a connection waits for the
	// next one.
	headerTime = 10 * time.Second
	keepTime   = 2 * time.Minute

	// headerBytes bounds the headers of a request. Mcp-Param-* may hold arguments.
	headerBytes = 64 << 10

	// settleTime is how long requests may take to come on connections that were accepted
	// last. What net/http reads after its Shutdown it does not answer.
	settleTime = 250 * time.Millisecond

	// lateTime is what requests that were cancelled at the end have to say so.
	lateTime = time.Second
)

// Address completes what an operator types: a host and a port, or a port alone,
// which is of 127.0.0.1. All addresses of the machine are 0.0.0.0.
func Address(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil && text != "" && strings.Trim(text, "0123456789") == "" {
		host, port, err = "", text, nil
	}
	if err == nil && port == "" {
		err = errors.New("missing port in address")
	}
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return "", err
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

type peerKey struct{}

// withPeer notes whose program has connected, where the address does not tell programs
// apart.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	if name := peerName(c); name != "" {
		return context.WithValue(ctx, peerKey{}, name)
	}
	return ctx
}

// Serve answers requests on l until ctx ends, and then in order:
//
//	NoticeTime             /readyz says no, all else is as before
//	the rest of DrainTime  l is closed, streams on which clients listen end, requests that run go on
//	a second               they are cancelled, and answered so
//
// It returns as soon as nothing runs after NoticeTime, and has closed h. The error is nil
// unless l failed.
func (h *Handler) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       keepTime,
		MaxHeaderBytes:    headerBytes,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return withPeer(h.connections.arrive(ctx, c), c)
		},
		ConnState: h.connections.changed,
		ErrorLog:  slog.NewLogLogger(h.log.Handler(), slog.LevelDebug),
	}
	var failed error
	ended := make(chan struct{})
	go func() {
		failed = server.Serve(listener{l, h.connections})
		close(ended)
	}()
	select {
	case <-ended:
		h.Close()
		return failed
	case <-ctx.Done():
	}
	h.leaving.Store(true)
	asked := time.Now()
	if notice := min(h.opts.NoticeTime, h.opts.DrainTime); notice > 0 {
		h.log.Info("shutting down: /readyz says no, and requests are still taken", "for", notice)
		select {
		case <-ended:
		case <-time.After(notice):
			// The system cuts off who waits to be accepted when a listener closes, and a
			// balancer may have sent a request by then.
			for range settleTime / time.Millisecond {
				if !waiting(l) {
					break
				}
				time.Sleep(time.Millisecond)
			}
			_ = l.Close()
			<-ended
			time.Sleep(settleTime)
		}
	}
	left := h.opts.DrainTime - time.Since(asked)
	h.log.Info("shutting down once running requests have ended", "at_most", left.Round(time.Millisecond))
	h.Drain()
	shutdown := func(within time.Duration) error {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
		defer cancel()
		return server.Shutdown(late)
	}
	if shutdown(left) != nil {
		h.cancel()
		if shutdown(lateTime) != nil {
			_ = server.Close() // a request whose body does not come, or whose client does not read
		}
	}
	h.Close()
	<-ended
	return nil
}
