package replay

import (
	"net/url"
	"slices"
	"strings"
)

// This file compares URLs.
//
// AWS does not document whether a Location has the default port of its scheme, how it is encoded,
// or whether the path is normalised. URLs that differ only in these are the same.

// Same reports whether two URLs may be the same. One without a scheme equals any.
func Same(a, b string) bool {
	if a == b {
		return true
	}
	x, y := splitURL(a), splitURL(b)
	if x.origin == "" || y.origin == "" {
		return true
	}
	return x.origin == y.origin && samePath(x.path, y.path) && sameText(x.query, y.query)
}

// A location has the parts of a URL. The origin lacks the default port of its scheme.
type location struct{ origin, path, query string }

// splitURL returns the parts of a URL, without its fragment; none if it has no scheme.
func splitURL(text string) location {
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

// samePath reports whether two paths have a common reading.
func samePath(a, b string) bool {
	if a == b {
		return true
	}
	there := readings(nil, b)
	return slices.ContainsFunc(readings(nil, a), func(p string) bool {
		return slices.Contains(there, p)
	})
}

// sameText reports whether two queries are equal, encoded or decoded.
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
