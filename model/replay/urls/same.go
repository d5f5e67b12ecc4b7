package urls

import (
	"net/url"
	"slices"
	"strings"
)

// This file compares URLs.
//
// AWS does not document whether a Location has the port that is usual for its scheme, how it is
// encoded, or whether the path is normalised. Two URLs that differ in these alone are the same.

// Same reports whether two URLs may be the same. One without a scheme may be any.
func Same(a, b string) bool {
	if a == b {
		return true
	}
	x, y := divide(a), divide(b)
	if x.origin == "" || y.origin == "" {
		return true
	}
	return x.origin == y.origin && samePath(x.path, y.path) && sameText(x.query, y.query)
}

// A location is the parts of a URL. A port that is usual for the scheme is left out of the origin.
type location struct{ origin, path, query string }

// divide returns the parts of a URL, without its fragment; none if it has no scheme.
func divide(text string) location {
	text, _, _ = strings.Cut(text, "#")
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return location{}
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	var out location
	scheme = strings.ToLower(scheme)
	host := strings.ToLower(rest[:end])
	switch scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	out.origin = scheme + "://" + host
	out.path, out.query, _ = strings.Cut(rest[end:], "?")
	if out.path == "" {
		out.path = "/"
	}
	return out
}

// samePath reports whether there is a reading of the paths in which they are the same.
func samePath(a, b string) bool {
	if a == b {
		return true
	}
	there := Readings(nil, b)
	return slices.ContainsFunc(Readings(nil, a), func(p string) bool {
		return slices.Contains(there, p)
	})
}

// sameText reports whether queries are the same, encoded or not.
func sameText(a, b string) bool {
	if a == b {
		return true
	}
	x, err := url.QueryUnescape(a)
	if err != nil {
		return false
	}
	y, err := url.QueryUnescape(b)
	return err == nil && x == y
}
