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
	var to *member
	if p != nil {
		to = p.pick()
	}
	if to == nil {
		fixed(w, lb.Action{Status: http.StatusServiceUnavailable})
		return
	}
	proxy := httputil.ReverseProxy{
		Transport:      p.transport,
		FlushInterval:  -1, // streams pass as they come
		ErrorLog:       log.New(io.Discard, "", 0),
		ErrorHandler:   badGateway,
		ModifyResponse: dropServer,
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL.Scheme = p.scheme
			pr.Out.URL.Host = net.JoinHostPort(to.Address, strconv.Itoa(int(to.Port)))
			keepTarget(pr.Out.URL, pr.In)
			s.announce(pr)
		},
	}
	proxy.ServeHTTP(w, r)
}

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

// dropServer leaves the Server header to the load balancer.
func dropServer(r *http.Response) error {
	r.Header.Del("Server")
	return nil
}

// badGateway answers for a target that does not.
func badGateway(w http.ResponseWriter, _ *http.Request, err error) {
	var timeout net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		fixed(w, lb.Action{Status: http.StatusGatewayTimeout})
		return
	}
	fixed(w, lb.Action{Status: http.StatusBadGateway})
}
