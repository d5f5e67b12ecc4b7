package frontend

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/fake/targetgroup"
)

// This file forwards requests to targets.

// shares takes turns among the target groups of each rule, by weight.
type shares struct {
	mu     sync.Mutex
	credit map[int][]int32 // by rule: what each group is owed
}

// next returns the target group whose turn it is: each group is credited its weight, and the one
// with the most credit pays the total. This spreads the shares evenly. It is empty if all weights
// are zero.
func (s *shares) next(rule int, targets []lb.Weighted) lb.GroupID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.credit == nil {
		s.credit = map[int][]int32{}
	}
	credit := s.credit[rule]
	if credit == nil {
		credit = make([]int32, len(targets))
		s.credit[rule] = credit
	}
	most, total := -1, int32(0)
	for i, t := range targets {
		credit[i] += t.Weight
		total += t.Weight
		if t.Weight > 0 && (most < 0 || credit[i] > credit[most]) {
			most = i
		}
	}
	if most < 0 {
		return ""
	}
	credit[most] -= total
	return targets[most].Group
}

// forward forwards a request to a member of a target group. Host, path and headers stay as they
// are; headers about the client are added.
func (s *Service) forward(w http.ResponseWriter, r *http.Request, p *targetgroup.Group) {
	if p == nil {
		fixed(w, lb.Action{Status: http.StatusServiceUnavailable})
		return
	}
	// A target may answer before the body has been sent. Without full duplex, HTTP/1.1 would lose a
	// part of the body.
	if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
		unanswered(w, r, err)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	to := &targetgroup.Errand{Group: p, Cancel: cancel}
	defer to.Finish()
	proxy := httputil.ReverseProxy{
		Transport:      to,
		FlushInterval:  -1, // streams are not buffered
		BufferPool:     &buffers,
		ErrorLog:       quiet,
		ErrorHandler:   unanswered,
		ModifyResponse: brand,
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL.Scheme = p.Scheme
			pr.Out.Trailer = pr.In.Trailer // is filled in after the body
			keepTarget(pr.Out.URL, pr.In)
			s.announce(pr)
		},
	}
	proxy.ServeHTTP(w, r.WithContext(ctx))
}

// rewritten returns a request as a rule rewrites it for the target.
func rewritten(r *http.Request, by routing.Rewrite) *http.Request {
	url := rawPath(r)
	if r.URL.RawQuery != "" {
		url += "?" + r.URL.RawQuery
	}
	out := r.WithContext(r.Context())
	out.Host, out.RequestURI = by.Apply(r.Host, url)
	target := *r.URL
	target.Path, target.RawQuery, _ = strings.Cut(out.RequestURI, "?")
	target.RawPath = target.Path
	out.URL = &target
	return out
}

// quiet drops the log of clients and targets that close connections.
var quiet = log.New(io.Discard, "", 0)

// bufferPool reuses the buffers of bodies.
type bufferPool struct{ sync.Pool }

var buffers = bufferPool{sync.Pool{New: func() any { return new([32 << 10]byte) }}}

func (b *bufferPool) Get() []byte { return b.Pool.Get().(*[32 << 10]byte)[:] }

func (b *bufferPool) Put(buffer []byte) { b.Pool.Put((*[32 << 10]byte)(buffer)) }

// keepTarget makes an outgoing URL spell the path and the query as the client sent them.
func keepTarget(out *url.URL, in *http.Request) {
	out.RawQuery = in.URL.RawQuery
	if path := rawPath(in); path != out.EscapedPath() && !strings.HasPrefix(path, "//") {
		out.Opaque = path
	}
}

// announce adds the headers X-Forwarded-*. It appends to the client's own X-Forwarded-For, and
// replaces the others.
func (s *Service) announce(pr *httputil.ProxyRequest) {
	client, _, err := net.SplitHostPort(pr.In.RemoteAddr)
	if err != nil {
		client = pr.In.RemoteAddr
	}
	before := pr.In.Header.Values("X-Forwarded-For")
	pr.Out.Header.Set("X-Forwarded-For",
		strings.Join(append(before[:len(before):len(before)], client), ", "))
	pr.Out.Header.Set("X-Forwarded-Proto", scheme(pr.In))
	pr.Out.Header.Set("X-Forwarded-Port", strconv.Itoa(int(s.Listener.Port)))
}

// brand sets the Server header of a target's answer.
func brand(r *http.Response) error {
	r.Header.Set("Server", serverName)
	return nil
}

// unanswered answers if no target does.
func unanswered(w http.ResponseWriter, _ *http.Request, err error) {
	var timeout net.Error
	switch {
	case errors.Is(err, targetgroup.ErrNobody):
		fixed(w, lb.Action{Status: http.StatusServiceUnavailable})
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout():
		fixed(w, lb.Action{Status: http.StatusGatewayTimeout})
	default:
		fixed(w, lb.Action{Status: http.StatusBadGateway})
	}
}
