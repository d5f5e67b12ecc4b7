package albsim

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"
)

// This file is a slow endpoint: it carries out one call after another, in the order in which they
// come. A call that was sent is carried out, also if its caller no longer waits.

// takeTime waits until the earlier calls of the service are over, and then for as long as the call
// takes. The function that it returns lets the next one begin.
func (s *Sim) takeTime(c Call) (over func()) {
	if s.options.Serial == nil {
		return func() {}
	}
	c.At = time.Now()
	took := s.options.Serial(c)
	line, known := s.lines[c.Service]
	if took <= 0 || !known {
		return func() {}
	}
	line <- struct{}{}
	<-time.After(took)
	return func() { <-line }
}

// roundTripSlowly answers an API call that takes time. A caller that no longer waits gets the error
// of its context, and the call is carried out all the same.
func (s *Sim) roundTripSlowly(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	sent := r.Clone(context.WithoutCancel(r.Context()))
	sent.Body = io.NopCloser(bytes.NewReader(body))
	type result struct {
		answer *http.Response
		err    error
	}
	done := make(chan result, 1)
	go func() {
		answer, err := s.answerCall(sent) //nolint:bodyclose // the caller reads it
		done <- result{answer, err}
	}()
	select {
	case got := <-done:
		return got.answer, got.err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}
