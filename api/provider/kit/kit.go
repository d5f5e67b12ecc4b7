// Package kit serves the provider protocol (docs/reference/protocol.md) for a provider that is
// written in Go: an author implements Provider with the types of package v1, and Listen does the
// rest. It reads requests strictly, carries out each step once, has the steps of a load balancer
// wait for each other, begins no step for an operator that has given up, and asks for a token.
package kit

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-logr/logr"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// A Provider makes load balancers of one kind. An error that is a *v1.Problem reaches the operator
// as it is, and another one with its text. Calls come from several goroutines. A change is
// finished even if the operator no longer waits for it.
type Provider interface {
	// Capabilities describe what load balancers can express, and how much of it. The operator sends nothing else.
	Capabilities() v1.Capabilities
	// Lookup answers questions. The kit adds the entity tag of the capabilities.
	Lookup(ctx context.Context, asked v1.Questions) (v1.Facts, error)
	// List returns the keys of all load balancers.
	List(ctx context.Context) ([]string, error)
	// Observe returns the current state of a key. No step of the key is carried out meanwhile.
	Observe(ctx context.Context, key string, deep bool) (v1.Observed, error)
	// Active reports whether a load balancer answers requests.
	Active(ctx context.Context, key string) (bool, error)
	// Apply carries out steps that do not depend on each other, and returns a result for each, in the
	// same order. No other step of the key is carried out meanwhile. The kit adds the IDs. An error
	// says that no step was begun. That has to be so where IsLate reports true after a wait.
	Apply(ctx context.Context, key string, steps []v1.Step) ([]v1.Result, error)
	// Targets returns the members of a target group with their health.
	Targets(ctx context.Context, key, group string) ([]v1.TargetHealth, error)
	// SetTargets makes targets the members of a target group. No other change of them is made meanwhile.
	SetTargets(ctx context.Context, key, group string, want []v1.Target) error
}

// Options configure a server.
type Options struct {
	Log logr.Logger
	// Token returns the bearer token that requests need; nil: they need none. It is called for each
	// request, so that the token can be replaced. While it returns "" all requests are refused.
	Token func() string
}

// A Server serves one provider. It is an http.Handler.
type Server struct {
	provider Provider
	options  Options
	calls    *calls
	steps    *steps
	turns    *turns // of load balancers and target groups
}

// New returns a server of a provider.
func New(p Provider, o Options) *Server {
	return &Server{provider: p, options: o, calls: newCalls(), steps: newSteps(), turns: newTurns()}
}

// Close begins no further call, and waits for those under way. After the timeout it ends their
// contexts, and returns an error.
func (s *Server) Close(timeout time.Duration) error { return s.calls.close(timeout) }

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	id := requestID(r)
	w.Header().Set(v1.HeaderRequestID, id)
	a := s.answer(w, r, begun)
	s.log(r, id, a, time.Since(begun))
	write(w, r, a)
}

// answer returns the answer to a request.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, begun time.Time) answer {
	if s.options.Token != nil && !isAuthorised(r.Header.Get("Authorization"), s.options.Token()) {
		p := v1.NewProblem(v1.ProblemDenied, "this provider asks for a bearer token, and the request "+
			"has another one or none; the operator's token has to be the provider's")
		p.Status = http.StatusUnauthorized
		return problemAnswer(p)
	}
	c, refused := readRequest(r, begun)
	if refused != nil {
		return *refused
	}
	var do func(context.Context) answer
	err := s.safely(func() (err error) {
		do, err = s.read(w, r, c)
		return err
	})
	if err != nil {
		return errorAnswer(err)
	}
	return s.calls.run(r, c, func(ctx context.Context) (a answer) {
		if err := s.safely(func() error { a = do(ctx); return nil }); err != nil {
			return errorAnswer(err)
		}
		return a
	})
}

// safely calls a function, and returns an error if that panics.
func (s *Server) safely(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.options.Log.Error(fmt.Errorf("%v", p), "the provider panicked", "stack", string(debug.Stack()))
			err = fmt.Errorf("the provider panicked: %v", p)
		}
	}()
	return do()
}

// problemOf returns the problem that an error is.
func problemOf(err error) *v1.Problem {
	if p, is := errors.AsType[*v1.Problem](err); is {
		complete := *p
		usual := v1.NewProblem(p.Type, "")
		if complete.Status == 0 {
			complete.Status = usual.Status
		}
		if complete.Title == "" {
			complete.Title = usual.Title
		}
		return &complete
	}
	return v1.NewProblem(v1.ProblemOther, err.Error())
}

// isAuthorised compares a header with a token, in constant time.
func isAuthorised(header, token string) bool {
	scheme, given, _ := strings.Cut(header, " ")
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && token != "" &&
		strings.EqualFold(scheme, "Bearer")
}

// log writes a line for a request: its method, path, key, status and time. It leaves out the body,
// the headers and other parameters, which can hold secrets.
func (s *Server) log(r *http.Request, id string, a answer, took time.Duration) {
	about := []any{"method", r.Method, "path", clip(r.URL.Path), "key", clip(r.URL.Query().Get("key")),
		"status", a.status, "requestID", id, "took", took.Round(time.Millisecond).String()}
	if trace := traceOf(r.Header.Get("traceparent")); trace != "" {
		about = append(about, "trace", trace)
	}
	if a.problem == nil {
		s.options.Log.V(1).Info("answered", about...)
		return
	}
	s.options.Log.Info("answered with a problem",
		append(about, "type", string(a.problem.Type), "detail", a.problem.Detail)...)
}
