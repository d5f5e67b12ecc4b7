// Package serve is the server of the provider protocol (docs/reference/protocol.md): it serves any
// providers.Provider of this tree over HTTP, to an operator that is another process.
//
// The protocol does not send the operator's observation, which a Provider gets with each step: the
// server holds it (mirror.go). A step is applied once under its ID, however often it is delivered
// (steps.go). Requests are read strictly (strict.go), and their memory is limited (bounds.go).
package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/wire"
)

// Options configure a server.
type Options struct {
	Log logr.Logger
	// Software is the name and the version of this process, for the capabilities.
	Software string
	// Token returns the bearer token that requests need; nil: they need none. It is called for each
	// request, so that the token can be replaced. While it returns "" all requests are refused.
	Token func() string
	// Schemas are those of the provider's own settings.
	Schemas v1.SettingsSchemas
	// LongAfter is the time after which a call is answered with 202; 0: 5 seconds.
	LongAfter time.Duration
	// MaxRequest limits the length of requests; 0: v1.MaxRequest.
	MaxRequest int
}

// A Server serves one provider. It is an http.Handler.
type Server struct {
	provider   *providers.Guarded
	options    Options
	closing    atomic.Bool
	bounds     *bounds
	mirrors    *mirrors
	steps      *steps
	members    *locks // of target groups
	operations *operations
}

// New returns a server of a provider.
func New(p providers.Provider, o Options) *Server {
	if o.LongAfter <= 0 {
		o.LongAfter = 5 * time.Second
	}
	o.LongAfter = min(o.LongAfter, longest/2)
	if o.MaxRequest <= 0 {
		o.MaxRequest = v1.MaxRequest
	}
	return &Server{
		provider: providers.Guard(p, nil), options: o, bounds: newBounds(), mirrors: newMirrors(),
		steps: newSteps(), members: newLocks(),
		operations: newOperations(),
	}
}

// Close begins no further call, and waits for the changes under way. After the timeout it ends
// them, and returns which they were.
func (s *Server) Close(timeout time.Duration) error {
	s.closing.Store(true)
	defer s.operations.cancel()
	return s.provider.Revoke(timeout)
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	id := requestID(r)
	w.Header().Set(v1.HeaderRequestID, id)
	a := s.answer(w, r, begun)
	if a.status == 0 { // the client has gone
		a = problemAnswer(wire.NewProblem(v1.ProblemOther, "the client did not wait for the answer"))
	}
	s.log(r, id, a, time.Since(begun))
	write(w, r, a)
}

// answer returns the answer to a request.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, begun time.Time) (a answer) {
	if s.options.Token != nil && !isAuthorised(r.Header.Get("Authorization"), s.options.Token()) {
		p := wire.NewProblem(v1.ProblemDenied, "this provider asks for a bearer token, and the request "+
			"has another one or none; the operator's token has to be the provider's")
		p.Status = http.StatusUnauthorized
		return problemAnswer(p)
	}
	found, refused := findRoute(r)
	if refused != nil {
		return *refused
	}
	if s.closing.Load() && !found.polls {
		p := wire.NewProblem(v1.ProblemOther, "the provider is about to end and begins nothing more")
		p.Status = http.StatusServiceUnavailable
		return problemAnswer(p)
	}
	if !acceptsVersion(r.Header.Values("Accept")) {
		return problemAnswer(versionProblem(http.StatusNotAcceptable,
			"the answer would be "+v1.MediaType+", and the request accepts only "+
				clip(strings.Join(r.Header.Values("Accept"), ", "))))
	}
	call := call{route: found}
	if call.timeout, a = timeout(r); a.status != 0 {
		return a
	}
	if call.timeout > 0 {
		call.until = begun.Add(call.timeout)
	}
	if p := call.readQuery(r.URL.RawQuery); p != nil {
		return problemAnswer(p)
	}
	if found.polls {
		return s.poll(r, call)
	}
	release, p := s.bounds.enter()
	if p != nil {
		return problemAnswer(p)
	}
	do, p := s.readSafely(w, r, call)
	if p != nil {
		release()
		return problemAnswer(p)
	}
	return s.run(r, call, do, release)
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
