package matching

import (
	"net/url"
	"regexp"
	"strings"
)

// This file is requests, and how they can be read.

// A Request is one that a client makes to a load balancer.
type Request struct {
	Port    int32
	TLS     bool
	SNI     string
	RSAOnly bool   // the client supports no certificate with a key on a curve
	Method  string // GET if empty
	Host    string // as in the Host header, with a port where clients send one
	Path    string // as on the request line, without the query
	Query   string
	Headers map[string]string // names in lower case
	Source  string            // the client's address; empty for one that security groups do not look at
}

// Reading is how what AWS leaves undocumented turns out.
type Reading struct {
	HostWithPort bool // the port of the Host header takes part in matching, where it is not the usual one
	HostAsSent   bool // regular expressions see the host as it was sent, not in lower case
	// The guide says that rules are evaluated after the URI is normalised, and not what that is
	// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/rule-condition-types.html).
	Decoded  bool // the path is decoded before it is matched
	Resolved bool // its dot segments are resolved, as RFC 3986 says in 5.2.4
	Merged   bool // slashes that follow each other are one
}

// Normalised is the path that conditions see.
func (how Reading) Normalised(path string) string {
	if decoded, err := url.PathUnescape(path); how.Decoded && err == nil {
		path = decoded
	}
	if how.Merged {
		path = slashes.ReplaceAllString(path, "/")
	}
	if how.Resolved {
		path = withoutDots(path)
	}
	return path
}

var slashes = regexp.MustCompile("/+")

// withoutDots resolves the segments "." and ".." of a path.
func withoutDots(path string) string {
	segments := strings.Split(path, "/")
	var out []string
	for i, s := range segments {
		last := i == len(segments)-1
		switch {
		case s == ".." && len(out) > 1:
			out = out[:len(out)-1]
		case s != "." && s != "..":
			out = append(out, s)
			continue
		}
		if last {
			out = append(out, "")
		}
	}
	return strings.Join(out, "/")
}
