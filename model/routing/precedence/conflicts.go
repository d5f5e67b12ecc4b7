package precedence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/routing"
)

// This file reports conflicts to the owners of routes, with the winner and an example request.

// Diagnostics returns diagnostics about conflicts, unreachable routes and hosts that keep their
// misses, each once for all ports.
func (t *Table) Diagnostics() []diag.Diagnostic {
	notes := map[diag.Diagnostic]bool{}
	for _, port := range slices.Sorted(maps.Keys(t.ports)) {
		named := t.namedOn(port)
		for _, level := range t.Levels(port) {
			t.reportHidden(notes, port, level)
			t.reportUnsent(notes, level)
			t.reportLoops(notes, port, level)
			t.reportMisses(notes, port, level)
			t.reportShadowed(notes, port, level, named[level.Host])
		}
	}
	t.reportShut(notes)
	t.reportKept(notes)
	t.reportLate(notes)
	t.reportDefaults(notes)
	t.reportOpen(notes)
	return diag.Sort(oncePerSource(notes))
}

// reportShut reports listed hosts that are closed on HTTP ports, once for each Ingress.
func (t *Table) reportShut(notes map[diag.Diagnostic]bool) {
	done := map[string]bool{}
	for _, n := range t.shut {
		if owner := n.Owner.String(); !done[owner] {
			done[owner] = true
			notes[diag.Diagnostic{Severity: diag.Error, Reason: diag.TooComplex, Source: n.Source,
				Message: fmt.Sprintf(
					"a wildcard of another namespace stands for hosts that are listed, and rules without a host "+
						"have more than %d paths for all of them: this host and those after it are not served over "+
						"HTTP; name them in rules", mostPassedOver)}] = true
		}
	}
}

// reportKept reports hosts that keep their misses because too many routes would be repeated, once
// for each Ingress.
func (t *Table) reportKept(notes map[diag.Diagnostic]bool) {
	done := map[string]bool{}
	for _, n := range t.kept {
		if owner := n.Owner.String(); !done[owner] {
			done[owner] = true
			notes[diag.Diagnostic{Severity: diag.Error, Reason: diag.TooComplex, Source: n.Source,
				Message: fmt.Sprintf(
					"wildcards of other namespaces stand for hosts of this one, and its rules without a host "+
						"have more than %d paths for all of them: "+
						"what misses the paths of this host and those after it is answered by their own default "+
						"backend, or 404; write these paths under the hosts, or name fewer hosts", mostPassedOver)}] =
				true
		}
	}
}

// oncePerSource keeps the first of diagnostics that differ only in their example request.
func oncePerSource(notes map[diag.Diagnostic]bool) []diag.Diagnostic {
	type subject struct {
		source diag.Source
		reason diag.Reason
		before string // the sentence up to its example
	}
	kept := map[subject]diag.Diagnostic{}
	for d := range notes {
		before, _, _ := strings.Cut(d.Message, ": try ")
		s := subject{d.Source, d.Reason, before}
		if old, ok := kept[s]; !ok ||
			cmp.Or(cmp.Compare(len(d.Message), len(old.Message)), cmp.Compare(d.Message, old.Message)) < 0 {
			kept[s] = d
		}
	}
	return slices.Collect(maps.Values(kept))
}

func (t *Table) reportHidden(notes map[diag.Diagnostic]bool, port int32, level *Level) {
	_, hidden := level.Reachable()
	for _, h := range hidden {
		if h.Route.Host != level.Host && level.inOrder {
			continue // it is repeated here
		}
		if h.Route.Through != nil || t.redirectsFirst(port, h) {
			continue // what hides the redirect is reported
		}
		if len(h.By) == 0 {
			notes[diag.Diagnostic{Severity: diag.Warning, Reason: diag.Unreachable, Source: h.Route.Source,
				Message: fmt.Sprintf("no request has a path like %s: a path ends before \"?\" and \"#\"",
					printable.Word(diag.Cut(h.Route.Path.Value)))}] = true
			continue
		}
		path, ok := t.Witness(h.Route.Owner.String(), h.Route.Path, nil)
		example := ""
		if ok {
			example = ": try " + t.curl(port, level.Host, path)
			if len(h.Route.When) > 0 {
				example += " with " + h.Route.When.String()
			}
		}
		if h.Same() {
			notes[diag.Diagnostic{Severity: diag.Warning, Reason: diag.Conflict, Source: h.Route.Source,
				Message: fmt.Sprintf("%s claims the same requests and answers them, because %s%s",
					h.By[0].Source, whySettled(h.By[0], h.Route, level.inOrder), example)}] = true
			continue
		}
		names := make([]string, len(h.By))
		for i, by := range h.By {
			names[i] = by.Source.String()
		}
		notes[diag.Diagnostic{Severity: diag.Warning, Reason: diag.Unreachable, Source: h.Route.Source,
			Message: fmt.Sprintf("every request for %s is answered by %s%s", h.Route.Path,
				strings.Join(names, " and "), example)}] = true
	}
}

// redirectsFirst reports whether a redirect of the same Ingress to HTTPS is in front of a route, which
// answers there: its author wants that.
func (t *Table) redirectsFirst(port int32, h Hidden) bool {
	if t.ports[port].protocol != routing.HTTP || len(h.By) != 1 {
		return false
	}
	by := h.By[0]
	to := by.Action.Redirect
	return to != nil && to.Scheme == "https" && to.Host == "" && to.Path == "" &&
		by.Owner.String() == h.Route.Owner.String() &&
		slices.ContainsFunc(h.Route.Ports, func(p int32) bool {
			return strconv.Itoa(int(p)) == to.Port && t.ports[p] != nil && t.ports[p].protocol == routing.HTTPS
		})
}

// reportLoops reports the redirects that lead to themselves.
func (t *Table) reportLoops(notes map[diag.Diagnostic]bool, port int32, level *Level) {
	for _, r := range level.Routes {
		if r.Action.Redirect == nil {
			continue
		}
		path, ok := t.Witness(r.Owner.String(), r.Path, nil)
		if !ok {
			continue
		}
		from := t.URL(port, level.Host, path)
		scheme, rest, _ := strings.Cut(from, "://")
		host, _, _ := strings.Cut(rest, "/")
		if r.Action.Location(routing.Request{Port: port, Host: host, Path: path}, scheme,
			"") == from {
			notes[diag.Diagnostic{Severity: diag.Warning, Reason: diag.RedirectLoop, Source: r.Source,
				Message: "the redirect leads to itself: try " + t.curl(port, level.Host, path)}] = true
		}
	}
}

// whySettled describes the rule that decided between two identical claims.
func whySettled(winner, loser *routing.Route, inOrder bool) string {
	a, b := winner.Owner, loser.Owner
	switch {
	case inOrder && a.Order == b.Order && a.String() != b.String():
		return "its Ingress comes first by name"
	case inOrder && a.String() == b.String():
		return "it comes first"
	case len(winner.When) < len(loser.When):
		return "it has no further conditions"
	case a.Namespace == b.Namespace && a.Name == b.Name && len(winner.Spelt) > len(loser.Spelt):
		return "it is spelt longer"
	case a.Namespace == b.Namespace && a.Name == b.Name:
		return "it comes first"
	case a.Order != b.Order:
		return "its order is lower"
	case !a.Created.Equal(b.Created):
		return "its Ingress is older"
	}
	return "its Ingress comes first by name and neither is older"
}

// reportMisses reports, to both owners, requests that match no path of a host and that a less
// specific host would have answered.
func (t *Table) reportMisses(notes map[diag.Diagnostic]bool, port int32, level *Level) {
	if level.Host == routing.Any || level.Closed || level.beside || len(level.Routes) == 0 {
		return
	}
	skipped := t.skippedLevels(port, level)
	if len(skipped) == 0 {
		return
	}
	answered := level.allRoutes()
	taken := map[routing.Path]bool{}
	for _, r := range answered {
		if len(r.When) == 0 {
			taken[r.Path] = true
		}
	}
	for _, below := range skipped {
		for _, r := range slices.Backward(below.Routes) {
			if coveredByText(r.Path, taken) {
				continue
			}
			path, ok := t.Witness(r.Owner.String(), r.Path, answered)
			if !ok {
				continue
			}
			request := t.curl(port, level.Host, path)
			notes[diag.Diagnostic{Severity: diag.Info, Reason: diag.HostMiss,
				Source: level.Routes[0].Source.At(""),
				Message: fmt.Sprintf("what misses the paths of host %s does not go on to %s: try %s",
					level.Host, r.Source, request)}] = true
			notes[diag.Diagnostic{Severity: diag.Info, Reason: diag.HostMiss, Source: r.Source,
				Message: fmt.Sprintf("more specific hosts keep the requests that miss their paths: try %s",
					request)}] = true
			break
		}
	}
}

// namedOn returns the first name of each host on a port.
func (t *Table) namedOn(port int32) map[routing.Host]*routing.Name {
	out := make(map[routing.Host]*routing.Name, len(t.Names))
	for i := range t.Names {
		if n := &t.Names[i]; out[n.Host] == nil && slices.Contains(n.Ports, port) {
			out[n.Host] = n
		}
	}
	return out
}

// reportShadowed reports, to both owners, that a default backend for any host, or for hosts below a
// wildcard, does not answer misses of a host that others name. The name is the first one of the
// host on the port, or nil.
func (t *Table) reportShadowed(notes map[diag.Diagnostic]bool, port int32, level *Level,
	name *routing.Name) {
	if level.Host == routing.Any || level.Closed || name == nil || level.hasDefault() {
		return
	}
	for _, below := range t.skippedLevels(port, level) {
		if below.Miss == nil {
			continue
		}
		path, misses := t.Witness(below.Miss.Owner.String(), routing.Root, level.allRoutes())
		if !misses {
			continue
		}
		request := t.curl(port, level.Host, path)
		notes[diag.Diagnostic{Severity: diag.Info, Reason: diag.HostMiss, Source: name.Source.At(""),
			Message: fmt.Sprintf("what misses the paths of host %s does not go on to %s: try %s", level.Host,
				below.Miss.Source, request)}] = true
		notes[diag.Diagnostic{Severity: diag.Info, Reason: diag.HostMiss, Source: below.Miss.Source,
			Message: fmt.Sprintf("more specific hosts keep the requests that miss their paths: try %s",
				request)}] = true
	}
}

// reportUnsent reports paths that clients send in another spelling.
func (t *Table) reportUnsent(notes map[diag.Diagnostic]bool, level *Level) {
	for _, r := range level.Routes {
		if sent := routing.Sendable(r.Path.Value); sent != r.Path.Value &&
			(r.Path.Type == routing.Exact || r.Path.Type == routing.Prefix) {
			notes[diag.Diagnostic{Severity: diag.Warning, Reason: diag.Unreachable, Source: r.Source,
				Message: fmt.Sprintf("no request has a path like %s: clients send it as %s",
					printable.Word(diag.Cut(r.Path.Value)), diag.Cut(sent))}] = true
		}
	}
}

// reportDefaults reports the default backends that answer no request, and those that share a host.
func (t *Table) reportDefaults(notes map[diag.Diagnostic]bool) {
	used := map[string]bool{} // by owner
	for _, pt := range t.ports {
		for _, level := range pt.levels {
			if level.Miss != nil {
				used[level.Miss.Owner.String()] = true
			}
		}
	}
	names := map[string][]routing.Name{}
	for _, n := range t.Names {
		names[n.Owner.String()] = append(names[n.Owner.String()], n)
	}
	for i := range t.Defaults {
		d := &t.Defaults[i]
		lost := false
		for _, n := range names[d.Owner.String()] {
			for _, port := range n.Ports {
				if level := t.ports[port].levelNamed(&n); level != nil && t.ports[port].has(d) {
					if winner := level.Miss; winner != nil && !redirectsAlike(winner, d) &&
						winner.Owner.String() != d.Owner.String() {
						lost = true
						notes[diag.Diagnostic{Severity: diag.Warning, Reason: diag.DefaultConflict, Source: d.Source,
							Message: fmt.Sprintf("misses on host %s go to the older %s", n.Host, winner.Source)}] = true
					}
				}
			}
		}
		if lost || used[d.Owner.String()] {
			continue
		}
		for _, port := range d.Ports {
			if pt := t.ports[port]; pt != nil && pt.levels[routing.Any].Miss != nil && !redirectsAlike(pt.levels[routing.Any].Miss, d) {
				notes[diag.Diagnostic{Severity: diag.Warning, Reason: diag.DefaultConflict, Source: d.Source,
					Message: fmt.Sprintf("requests that nothing matches go to the older %s",
						pt.levels[routing.Any].Miss.Source)}] = true
			}
		}
	}
}

// redirectsAlike reports whether two Ingresses redirect what no rule matches to the same port.
func redirectsAlike(a, b *routing.Default) bool {
	return a.Plain && b.Plain && a.Action.Key() == b.Action.Key()
}

// coveredByText reports whether, by its text, one of the paths has all request paths of p.
func coveredByText(p routing.Path, paths map[routing.Path]bool) bool {
	if paths[p] || paths[routing.Root] {
		return true
	}
	if p.Type != routing.Exact && p.Type != routing.Prefix {
		return false
	}
	for up := range routing.Ancestors(p.Value) {
		if paths[routing.Path{Type: routing.Prefix, Value: up}] {
			return true
		}
	}
	return false
}
