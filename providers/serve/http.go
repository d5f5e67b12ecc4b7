package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// This file listens for connections.

// Limits of a connection: the time to send a header and a request, and to read an answer; and the
// idle time.
const (
	headerWithin  = 10 * time.Second
	requestWithin = time.Minute
	idleFor       = 2 * time.Minute
	longestHeader = 32 << 10 // bytes
)

// HTTPServer returns an http.Server with these limits.
func HTTPServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerWithin, ReadTimeout: requestWithin,
		WriteTimeout: requestWithin + longest, IdleTimeout: idleFor,
		MaxHeaderBytes: longestHeader,
	}
}

// Listen serves until the context ends. Then it begins no further call, and those under way may end
// within the timeout.
func (s *Server) Listen(ctx context.Context, on net.Listener, timeout time.Duration) error {
	server := HTTPServer(s)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(on) }()
	select {
	case err := <-ended:
		return errors.Join(fmt.Errorf("serving at %s: %w", on.Addr(), err), s.Close(0))
	case <-ctx.Done():
	}
	until, end := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer end()
	err := s.Close(timeout)
	if shut := server.Shutdown(until); shut != nil {
		return errors.Join(err, server.Close())
	}
	return err
}
