package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// This file is how a Server is listened with.

// The most that a connection may take: to send a header, a request, and to take an answer; and how
// long it may be idle.
const (
	headerWithin  = 10 * time.Second
	requestWithin = time.Minute
	idleFor       = 2 * time.Minute
	longestHeader = 32 << 10 // bytes
)

// HTTPServer is an http.Server for a Server, with bounds on how long a client may take for what.
func HTTPServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerWithin, ReadTimeout: requestWithin, WriteTimeout: requestWithin + longest, IdleTimeout: idleFor,
		MaxHeaderBytes: longestHeader,
	}
}

// Listen serves until the context ends. Then nothing more is begun, and what is under way is
// finished within patience.
func (s *Server) Listen(ctx context.Context, on net.Listener, patience time.Duration) error {
	server := HTTPServer(s)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(on) }()
	select {
	case err := <-ended:
		return errors.Join(fmt.Errorf("serving at %s: %w", on.Addr(), err), s.Close(0))
	case <-ctx.Done():
	}
	until, end := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer end()
	err := s.Close(patience)
	if shut := server.Shutdown(until); shut != nil {
		return errors.Join(err, server.Close())
	}
	return err
}
