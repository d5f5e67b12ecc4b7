package replay

import (
	"net/url"
	"slices"
	"strings"
)

// This file finds the forms of a path that a load balancer may compare.
//
// A line has the URL as the client sent it, while rules are evaluated after the URI is normalised.
// It is not documented how
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/rule-condition-types.html).

// readings adds the paths that a load balancer may compare for a sent one: itself, and with encoded
// characters decoded, with slashes joined and with dot segments resolved (RFC 3986, 5.2.4).
func readings(out []string, path string) []string {
	out = append(out, path)
	if path == "" {
		out = append(out, "/")
	}
	add := func(change func(string) string) {
		for _, p := range slices.Clone(out) {
			if changed := change(p); !slices.Contains(out, changed) {
				out = append(out, changed)
			}
		}
	}
	if strings.Contains(path, "%") {
		add(decode)
	}
	if slices.ContainsFunc(out, func(p string) bool { return strings.Contains(p, "//") }) {
		add(joinSlashes)
	}
	if slices.ContainsFunc(out, func(p string) bool { return strings.Contains(p, "/.") }) {
		add(resolveDots)
	}
	return out
}

func decode(path string) string {
	out, err := url.PathUnescape(path)
	if err != nil {
		return path
	}
	return out
}

func joinSlashes(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return path
}

// resolveDots returns a path with its segments "." and ".." resolved.
func resolveDots(path string) string {
	segments := strings.Split(path, "/")
	var out []string
	for i, s := range segments {
		switch s {
		case "..":
			if len(out) > 1 {
				out = out[:len(out)-1]
			}
		case ".":
		default:
			out = append(out, s)
			continue
		}
		if i == len(segments)-1 {
			out = append(out, "")
		}
	}
	return strings.Join(out, "/")
}
