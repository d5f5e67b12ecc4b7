package routing

import (
	"net/netip"
	"strings"
)

// A Request has the parts of a request that routing looks at, in the form that clients send: the
// host has its case and port, and the path is the raw path without the query.
type Request struct {
	Port   int32
	Host   string
	Path   string
	Method string
	Header map[string][]string
	Query  map[string][]string
	Source netip.Addr
}

// Hostname returns the request's host as rules see it: in lower case and without its port.
func (r Request) Hostname() string {
	host := r.Host
	if colon := strings.LastIndexByte(host, ':'); colon >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:colon]
	}
	return strings.ToLower(host)
}
