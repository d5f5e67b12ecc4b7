package fake

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
)

// This file forwards requests to targets.

// A rotation chooses the target groups of each rule in turn, by weight.
type rotation struct {
	mu     sync.Mutex
	credit map[int][]int32 // by rule: the credit of each group
}

// next returns the target group whose turn it is: each group gets its weight as credit, and the
// total is taken from the one with the most credit. This spreads the requests evenly. It returns ""
// if all weights are zero.
func (s *rotation) next(rule int, targets []lb.Weighted) lb.GroupID {
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
func (s *service) forward(w http.ResponseWriter, r *http.Request, p *group) {
	if p == nil {
		sendFixedResponse(w, lb.Action{Status: http.StatusServiceUnavailable})
		return
	}
	// A target may answer before the body has been sent. Without full duplex, HTTP/1.1 would lose a
	// part of the body.
	if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
		answerBadGateway(w, r, err)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	to := &exchange{Group: p, Cancel: cancel}
	defer to.Finish()
	proxy := httputil.ReverseProxy{
		Transport:      to,
		FlushInterval:  -1, // streams are not buffered
		BufferPool:     &buffers,
		ErrorLog:       discardLog,
		ErrorHandler:   answerBadGateway,
		ModifyResponse: setServerHeader,
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL.Scheme = p.Scheme
			pr.Out.Trailer = pr.In.Trailer // is filled in after the body
			keepURL(pr.Out.URL, pr.In)
			s.addForwardedHeaders(pr)
		},
	}
	proxy.ServeHTTP(w, r.WithContext(ctx))
}

// rewritten returns a request with the rewrite of a rule.
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

// discardLog drops messages about clients and targets that close connections.
var discardLog = log.New(io.Discard, "", 0)

// bufferPool reuses the buffers of bodies.
type bufferPool struct{ sync.Pool }

var buffers = bufferPool{sync.Pool{New: func() any { return new([32 << 10]byte) }}}

func (b *bufferPool) Get() []byte { return b.Pool.Get().(*[32 << 10]byte)[:] }

func (b *bufferPool) Put(buffer []byte) { b.Pool.Put((*[32 << 10]byte)(buffer)) }

// keepURL gives an outgoing URL the path and the query exactly as the client sent them.
func keepURL(out *url.URL, in *http.Request) {
	out.RawQuery = in.URL.RawQuery
	if path := rawPath(in); path != out.EscapedPath() && !strings.HasPrefix(path, "//") {
		out.Opaque = path
	}
}

// addForwardedHeaders adds the headers X-Forwarded-*. It appends to the client's own
// X-Forwarded-For, and replaces the others.
func (s *service) addForwardedHeaders(pr *httputil.ProxyRequest) {
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

// setServerHeader sets the Server header of a target's answer.
func setServerHeader(r *http.Response) error {
	r.Header.Set("Server", serverName)
	return nil
}

// answerBadGateway answers a request if no target does.
func answerBadGateway(w http.ResponseWriter, _ *http.Request, err error) {
	var timeout net.Error
	switch {
	case errors.Is(err, errNoTargets):
		sendFixedResponse(w, lb.Action{Status: http.StatusServiceUnavailable})
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout():
		sendFixedResponse(w, lb.Action{Status: http.StatusGatewayTimeout})
	default:
		sendFixedResponse(w, lb.Action{Status: http.StatusBadGateway})
	}
}
