package kit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// This file runs calls, and listens for them. A call goes on if its client gives up, and the next
// attempt of the same call gets its answer: a read that takes longer than an attempt ends, too.

const (
	longest      = 5 * time.Minute // that a call takes
	answerWaits  = time.Minute     // for the next attempt of its call
	headerWithin = 10 * time.Second
	bodyWithin   = time.Minute
)

// calls holds the calls under way, and answers that no client has got yet.
type calls struct {
	mu      sync.Mutex
	named   map[string]*underWay             // by the operator's IDs
	all     map[*underWay]context.CancelFunc // calls under way
	running sync.WaitGroup
	closing bool
}

// underWay is a call that was begun.
type underWay struct {
	clients int // that wait for the answer
	done    chan struct{}
	answer  answer // once it is done
}

func newCalls() *calls {
	return &calls{named: map[string]*underWay{}, all: map[*underWay]context.CancelFunc{}}
}

// run makes a call, or waits for an earlier attempt of it.
func (s *calls) run(r *http.Request, c call, do func(context.Context) answer) answer {
	name := ""
	if c.id != "" {
		name = c.id + " " + r.Method + " " + r.URL.RequestURI()
	}
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		p := v1.NewProblem(v1.ProblemOther, "the provider is about to end and begins nothing more")
		p.Status = http.StatusServiceUnavailable
		return problemAnswer(p)
	}
	u := s.named[name]
	if name == "" || u == nil {
		u = &underWay{done: make(chan struct{})}
		if name != "" {
			s.named[name] = u
		}
		ctx := context.WithValue(context.WithoutCancel(r.Context()), callKey{}, c)
		ctx, s.all[u] = context.WithTimeout(ctx, longest)
		s.running.Go(func() { s.make(ctx, name, u, do) })
	}
	u.clients++
	s.mu.Unlock()
	select {
	case <-u.done:
		return u.answer
	case <-r.Context().Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		u.clients--
		return problemAnswer(v1.NewProblem(v1.ProblemOther, "the client did not wait for the answer"))
	}
}

// make makes a call. If no client waits for its answer, that is kept for the next attempt.
func (s *calls) make(ctx context.Context, name string, u *underWay, do func(context.Context) answer) {
	u.answer = do(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	close(u.done)
	s.all[u]()
	delete(s.all, u)
	forget := func() {
		if s.named[name] == u {
			delete(s.named, name)
		}
	}
	if u.clients > 0 || name == "" {
		forget()
		return
	}
	time.AfterFunc(answerWaits, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		forget()
	})
}

type callKey struct{}

// IsUrgent reports whether a call restricts or repairs what is served. A provider with a rate limit makes these calls
// first.
func IsUrgent(ctx context.Context) bool {
	c, _ := ctx.Value(callKey{}).(call)
	return c.isUrgent
}

// IsLate reports whether the operator no longer waits for a call. Then the provider begins no change.
func IsLate(ctx context.Context) bool {
	c, _ := ctx.Value(callKey{}).(call)
	return !c.until.IsZero() && time.Now().After(c.until)
}

// ErrLate is the error of a change that was not begun because the operator no longer waits.
var ErrLate = errors.New("the change was not begun: the operator no longer waits for it")

func (s *calls) close(timeout time.Duration) error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	defer s.cancel()
	ended := make(chan struct{})
	go func() {
		s.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-time.After(timeout):
		return fmt.Errorf("calls were still under way after %s", timeout)
	}
}

// cancel ends the contexts of the calls under way.
func (s *calls) cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cancel := range s.all {
		cancel()
	}
}

// Listen serves until the context ends. Then it begins no further call, and those under way may end
// within the timeout.
func (s *Server) Listen(ctx context.Context, on net.Listener, timeout time.Duration) error {
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: headerWithin, ReadTimeout: bodyWithin,
		WriteTimeout: longest + bodyWithin, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
	}
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
