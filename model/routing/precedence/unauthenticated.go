package precedence

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file reports to Ingresses with authentication how their Services can be reached without it.
// Paths are compared byte by byte, as load balancers compare them ("The comparison is case
// sensitive", and no normalisation is documented:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_PathPatternConditionConfig.html),
// while Services decode escapes, join slashes and resolve dots before they look at a path.

// Limits of the search and of diagnostics.
const (
	mostOpenNotes = 10 // warnings for an Ingress
	mostSignIns   = 50 // authenticated routes of an Ingress that are tried on a port
	mostDetours   = 5  // open routes to a Service that are tried for an authenticated one on a port
)

// A signIn is an authenticated route or default backend.
type signIn struct {
	action routing.Action
	owner  routing.Owner
	source diag.Source
	host   routing.Host
	path   routing.Path
	base   string // a path that it matches
	when   routing.Conditions
}

// An openRoute is a route to Services without authentication.
type openRoute struct {
	host   routing.Host
	prefix string // a path that it matches with all paths below; "" if it does not
}

// reportOpen reports open routes to the Service of an authenticated one, with a request that avoids
// the sign-in.
func (t *Table) reportOpen(notes map[diag.Diagnostic]bool) {
	signIns := t.signIns()
	if len(signIns) == 0 {
		return
	}
	type pair struct{ signIn, open diag.Source }
	found, count := map[pair]bool{}, map[string]int{}
	for _, listener := range t.Listeners {
		open, tried := t.openRoutes(listener.Port), map[string]int{}
		for _, s := range signIns {
			owner := s.owner.String()
			if tried[owner]++; tried[owner] > mostSignIns {
				continue
			}
			for _, r := range t.detours(s, listener.Port, open) {
				outcome := t.Match(r)
				p := pair{s.source, outcome.Source}
				if found[p] || count[owner] >= mostOpenNotes || !t.isOpen(outcome, s) {
					continue
				}
				found[p] = true
				count[owner]++
				notes[diag.Diagnostic{Severity: diag.Warning, Reason: diag.OpenRoute, Source: s.source,
					Message: fmt.Sprintf(
						"Service %s is reached without signing in through %s: authenticate there too, or have the "+
							"Service check who has signed in: try %s",
						t.commonService(outcome.Action, s.action), outcome.Source, t.curlTo(r))}] = true
			}
		}
	}
}

// signIns returns the authenticated routes and default backends, one for each source.
func (t *Table) signIns() []signIn {
	var out []signIn
	for i := range t.Routes {
		r := &t.Routes[i]
		if r.Action.Auth == nil || impossible(r.Path) {
			continue
		}
		if base, ok := t.Witness(r.Owner.String(), r.Path, nil); ok {
			out = append(out, signIn{r.Action, r.Owner, r.Source, r.Host, r.Path, base, r.When})
		}
	}
	for _, d := range t.Defaults {
		if d.Action.Auth != nil {
			out = append(out, signIn{action: d.Action, owner: d.Owner, source: d.Source, path: routing.Root,
				base: "/"})
		}
	}
	return out
}

// openRoutes returns the open routes of a port, by their Services.
func (t *Table) openRoutes(port int32) map[string][]openRoute {
	out := map[string][]openRoute{}
	for i := range t.Routes {
		r := &t.Routes[i]
		if r.Action.Auth != nil || !slices.Contains(r.Ports, port) {
			continue
		}
		open := openRoute{host: r.Host}
		if base, ok := t.Witness(r.Owner.String(), r.Path, nil); ok && r.Path.Type != routing.Exact {
			open.prefix = strings.TrimSuffix(base, "/")
		}
		for _, service := range t.services(r.Action) {
			if len(out[service]) < mostDetours {
				out[service] = append(out[service], open)
			}
		}
	}
	return out
}

// detours returns requests on a port that a Service may read as those of an authenticated route,
// and that other routes may match.
func (t *Table) detours(s signIn, port int32, open map[string][]openRoute) []routing.Request {
	var out []routing.Request
	at := func(host routing.Host, paths ...string) {
		for _, path := range paths {
			r := routing.Request{Port: port, Host: t.nameFor(port, host), Path: path, Method: "GET"}
			if !slices.ContainsFunc(out, func(o routing.Request) bool {
				return o.Host == r.Host && o.Path == r.Path
			}) {
				out = append(out, r)
			}
		}
	}
	at(s.host, spellings(s.base)...)
	for _, service := range t.services(s.action) {
		for _, o := range open[service] {
			if o.host != s.host {
				at(o.host, s.base)
			}
			if o.prefix != "" {
				at(o.host, o.prefix+"/.."+s.base)
			}
		}
	}
	return out
}

// spellings returns a path and others that many servers read as it: with an escape, with a further
// slash, in capitals.
func spellings(path string) []string {
	out := []string{path}
	if letter := strings.IndexFunc(path, func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}); letter >= 0 {
		out = append(out, fmt.Sprintf("%s%%%x%s", path[:letter], path[letter], path[letter+1:]))
	}
	out = append(out, "/"+path)
	if upper := strings.ToUpper(path); upper != path {
		out = append(out, upper)
	}
	return out
}

// isOpen reports whether a request without sign-in gets the answer for signed-in users.
func (t *Table) isOpen(o Outcome, s signIn) bool {
	return o.Action.Auth == nil && o.Source != s.source && t.commonService(o.Action, s.action) != ""
}

// commonService returns a Service of both actions, or "".
func (t *Table) commonService(a, b routing.Action) string {
	those := t.services(b)
	for _, service := range t.services(a) {
		if slices.Contains(those, service) {
			return service
		}
	}
	return ""
}

// services returns the Services of an action, with their ports.
func (t *Table) services(a routing.Action) []string {
	var out []string
	for _, w := range a.Forward {
		if b, known := t.Backends[w.Backend]; known && b.Service != "" {
			out = append(out, b.Service+":"+string(b.Port))
		}
	}
	return out
}
