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

// This file passes requests on to targets.

// Shares take turns among the target groups of each rule, by weight.
type shares struct {
	mu     sync.Mutex
	credit map[int][]int32 // by rule: what each group is owed
}

// next is the target group whose turn it is: each is credited its weight, and the one that is owed
// most pays for all. That gives every group its share and spreads it evenly. It is empty where all
// weights are zero.
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

// forward passes a request on to a member of a pool, with its host, path and headers as they are
// and the headers besides that say whom it comes from.
func (s *service) forward(w http.ResponseWriter, r *http.Request, p *pool) {
	if p == nil {
		fixed(w, lb.Action{Status: http.StatusServiceUnavailable})
		return
	}
	// A target may answer while the body is still under way. Without this, HTTP/1.1 would lose some.
	if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
		unanswered(w, r, err)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	to := &errand{pool: p, cancel: cancel}
	defer to.finish()
	proxy := httputil.ReverseProxy{
		Transport:      to,
		FlushInterval:  -1, // streams pass as they come
		BufferPool:     &buffers,
		ErrorLog:       quiet,
		ErrorHandler:   unanswered,
		ModifyResponse: brand,
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL.Scheme = p.scheme
			pr.Out.Trailer = pr.In.Trailer // which is filled in once the body has passed
			keepTarget(pr.Out.URL, pr.In)
			s.announce(pr)
		},
	}
	proxy.ServeHTTP(w, r.WithContext(ctx))
}

// rewritten is a request as a rule changes it for the target.
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

// quiet is for complaints about clients and targets that break off.
var quiet = log.New(io.Discard, "", 0)

// Buffers are used again for the next body.
type bufferPool struct{ sync.Pool }

var buffers = bufferPool{sync.Pool{New: func() any { return new([32 << 10]byte) }}}

func (b *bufferPool) Get() []byte { return b.Pool.Get().(*[32 << 10]byte)[:] }

func (b *bufferPool) Put(buffer []byte) { b.Pool.Put((*[32 << 10]byte)(buffer)) }

// keepTarget makes an outgoing URL spell its path and query as they were sent.
func keepTarget(out *url.URL, in *http.Request) {
	out.RawQuery = in.URL.RawQuery
	if path := rawPath(in); path != out.EscapedPath() && !strings.HasPrefix(path, "//") {
		out.Opaque = path
	}
}

// announce adds the headers that tell a target whom a request comes from. A client's own
// X-Forwarded-For is added to; the others it cannot set.
func (s *service) announce(pr *httputil.ProxyRequest) {
	client, _, err := net.SplitHostPort(pr.In.RemoteAddr)
	if err != nil {
		client = pr.In.RemoteAddr
	}
	before := pr.In.Header.Values("X-Forwarded-For")
	pr.Out.Header.Set("X-Forwarded-For", strings.Join(append(before[:len(before):len(before)], client), ", "))
	pr.Out.Header.Set("X-Forwarded-Proto", scheme(pr.In))
	pr.Out.Header.Set("X-Forwarded-Port", strconv.Itoa(int(s.listener.Port)))
}

// brand leaves the Server header to the load balancer.
func brand(r *http.Response) error {
	r.Header.Set("Server", serverName)
	return nil
}

// unanswered answers for a target that does not.
func unanswered(w http.ResponseWriter, _ *http.Request, err error) {
	var timeout net.Error
	switch {
	case errors.Is(err, errNobody):
		fixed(w, lb.Action{Status: http.StatusServiceUnavailable})
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout():
		fixed(w, lb.Action{Status: http.StatusGatewayTimeout})
	default:
		fixed(w, lb.Action{Status: http.StatusBadGateway})
	}
}
