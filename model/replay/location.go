package replay

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/accesslog"
	"fairlead.dev/fairlead/model/routing"
)

// This file compares the URL of a redirect with the one that was logged.
// AWS does not document whether #{host} is in lower case.

// otherLocations returns the bits of the possible answers that redirect to another URL than the
// line has.
func (h *host) otherLocations(p *prediction, l *accesslog.Line) uint64 {
	logged := l.Text(accesslog.RedirectURL)
	if logged == "" {
		return 0
	}
	request, err := l.Request()
	if err != nil {
		return 0
	}
	var out uint64
	for i, may := range p.before {
		to := may.action.Redirect
		if to == nil || may.action.Rewrite != nil {
			continue
		}
		found := logged
		if strings.Contains(to.Path+to.Query, "#{host}") {
			found = strings.ToLower(logged)
		}
		if !slices.ContainsFunc(locations(*to, request, h.port), func(want string) bool {
			return Same(want, logged) || found != logged && Same(strings.ToLower(want), found)
		}) {
			out |= placeOf(i)
		}
	}
	return out
}

// locations returns the possible URLs of a redirect: #{port} may be the port in the request's URL
// or that of the listener.
func locations(to routing.Redirect, request accesslog.Request, port int32) []string {
	var out []string
	for _, from := range []int32{request.Port, port} {
		asked := routing.Request{Port: from, Host: string(request.Host), Path: string(request.Path)}
		out = append(out, to.Location(asked, request.Scheme, string(request.Query)))
	}
	return out
}
