package neutral

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// This file is answers in words, the same for all data planes.

const refused = "refused"

// fixed is a fixed response.
func fixed(status int, body string) string { return fmt.Sprintf("%d %q", status, body) }

// received is one with the body that a data plane sends. Where the response has none, it can be the
// status in words.
func received(status int, body string) string {
	if body == fmt.Sprintf("%d %s\n", status, http.StatusText(status)) {
		body = ""
	}
	return fixed(status, body)
}

// redirected is a redirect. The case of a host makes no difference (RFC 3986, section 6.2.2.1), and
// is as it was sent with some.
func redirected(status int, location string) string {
	scheme, rest, _ := strings.Cut(location, "://")
	host, path, _ := strings.Cut(rest, "/")
	return fmt.Sprintf("%d to %s://%s/%s", status, scheme, strings.ToLower(host), path)
}

// shares are how many requests each Service gets.
type shares map[string]int

// reduce divides the shares by what they have in common, and returns their sum.
func (s shares) reduce() int {
	maps.DeleteFunc(s, func(_ string, n int) bool { return n == 0 })
	common, sum := 0, 0
	for _, n := range s {
		for a := n; ; {
			if a == 0 {
				break
			}
			common, a = a, common%a
		}
		sum += n
	}
	if sum == 0 {
		return 0
	}
	for to := range s {
		s[to] /= common
	}
	return sum / common
}

// forward is that a request goes to these Services, as the host and the target of the request line
// say, and that the client stays for some seconds with the one that it got.
func (s shares) forward(host, target string, sticky int) string {
	if s.reduce() == 0 {
		return fixed(http.StatusServiceUnavailable, "")
	}
	var out []string
	for _, to := range slices.Sorted(maps.Keys(s)) {
		out = append(out, fmt.Sprintf("%d to %s", s[to], to))
	}
	if sticky > 0 {
		out = append(out, fmt.Sprintf("for %d s", sticky))
	}
	return host + " " + target + ", " + strings.Join(out, ", ")
}
