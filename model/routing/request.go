package routing

import (
	"net/netip"
	"strings"
)

// A Request is what routing may look at. It is what arrives on the wire: the host still has
// its case and port, the path is the raw path without its query.
type Request struct {
	Port   int32
	Host   string
	Path   string
	Method string
	Header map[string][]string
	Query  map[string][]string
	Source netip.Addr
}

// Hostname is the request's host as rules see it: lower-case and without its port.
func (r Request) Hostname() string {
	host := r.Host
	if colon := strings.LastIndexByte(host, ':'); colon >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:colon]
	}
	return strings.ToLower(host)
}
