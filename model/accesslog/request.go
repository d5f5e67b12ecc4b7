package accesslog

import (
	"bytes"
	"errors"
	"net/netip"
)

// This file divides the request line: "METHOD scheme://host:port/path?query VERSION". The URL is
// logged as the client sent it.

// A Request has the parts of a request in a line, as parts of its text.
type Request struct {
	Method string
	// Scheme is http or https.
	Scheme string
	Host   []byte // as sent, without its port
	Port   int32
	Path   []byte // as sent
	Query  []byte // after the question mark; nil without one
}

var (
	errRequest = errors.New("request: it is no method, URL and version")
	errURL     = errors.New("request: the URL has no scheme, host and port")
)

// Request divides the request line. It returns an error for a request that is not HTTP, which AWS
// logs with "-" for parts that it could not read.
func (l *Line) Request() (Request, error) {
	text := Unescape(l.fields[RequestLine])
	first, last := bytes.IndexByte(text, ' '), bytes.LastIndexByte(text, ' ')
	if first <= 0 || last <= first || text[0] == '-' {
		return Request{}, errRequest
	}
	r := Request{Method: method(text[:first])}
	scheme, rest, found := bytes.Cut(text[first+1:last], []byte("://"))
	switch {
	case !found:
		return Request{}, errURL
	case string(scheme) == "https" || string(scheme) == "wss":
		r.Scheme = "https"
	case string(scheme) == "http" || string(scheme) == "ws":
		r.Scheme = "http"
	default:
		return Request{}, errURL
	}
	end := bytes.IndexAny(rest, "/?*")
	if end < 0 {
		end = len(rest)
	}
	host, uri := rest[:end], rest[end:]
	colon := bytes.LastIndexByte(host, ':')
	if colon < 0 {
		return Request{}, errURL
	}
	port := number(host[colon+1:])
	if port < 1 || port > 65535 {
		return Request{}, errURL
	}
	r.Host, r.Port = host[:colon], int32(port)
	r.Path, r.Query, found = bytes.Cut(uri, []byte("?"))
	if !found {
		r.Query = nil
	}
	return r, nil
}

// method returns a method as a text, without an allocation for usual ones.
func method(text []byte) string {
	switch string(text) {
	case "GET":
		return "GET"
	case "POST":
		return "POST"
	case "PUT":
		return "PUT"
	case "HEAD":
		return "HEAD"
	case "DELETE":
		return "DELETE"
	case "PATCH":
		return "PATCH"
	case "OPTIONS":
		return "OPTIONS"
	}
	return string(text)
}

// ClientAddress returns the address that the request came from, or the zero Addr.
func (l *Line) ClientAddress() netip.Addr {
	text := l.fields[Client]
	colon := bytes.LastIndexByte(text, ':')
	if colon < 0 {
		return netip.Addr{}
	}
	text = bytes.TrimSuffix(bytes.TrimPrefix(text[:colon], []byte("[")), []byte("]"))
	address, err := netip.ParseAddr(string(text))
	if err != nil {
		return netip.Addr{}
	}
	return address.Unmap()
}
