package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/model/ingress/spelling"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file finds the hosts and paths that a request without a rule was meant for.

// mostNear is the most hosts, and the most paths, that are named.
const mostNear = 3

// A Near is a path of the host of a request.
type Near struct {
	Path   string `json:"path"`
	Source string `json:"source"`
	// Why has the reason why the path does not match; empty if it is merely another path.
	Why string `json:"why,omitempty"`
}

// nearestHosts returns the named hosts that resemble a host, those above and below it, and those of
// the same domain, in this order.
func nearestHosts(programs []program.Program, host string) []string {
	ranks := map[string]int{}
	for _, p := range programs {
		for _, n := range p.Table.Names {
			if rank, ok := hostNearness(host, string(n.Host)); ok {
				ranks[string(n.Host)] = rank
			}
		}
	}
	near := make([]string, 0, len(ranks))
	for h := range ranks {
		near = append(near, h)
	}
	slices.SortFunc(near, func(a, b string) int {
		return cmp.Or(cmp.Compare(ranks[a], ranks[b]), cmp.Compare(a, b))
	})
	return near[:min(len(near), mostNear)]
}

// hostNearness returns how near a named host is to the one of a request: 0 if one is a misspelling
// of the other.
func hostNearness(asked, named string) (int, bool) {
	_, askedDomain, _ := strings.Cut(asked, ".")
	label, domain, _ := strings.Cut(named, ".")
	bare := named
	if label == "*" {
		bare = domain
	}
	switch {
	case label != "*" && spelling.Resembles(asked, named),
		label == "*" && strings.Count(askedDomain, ".") == strings.Count(domain, ".") &&
			spelling.Resembles(askedDomain, domain):
		return 0, true
	case asked == bare, strings.HasSuffix(asked, "."+bare), strings.HasSuffix(named, "."+asked):
		return 1, true
	case domain == askedDomain && strings.Contains(domain, "."):
		return 2, true
	}
	return 0, false
}

// misspelt returns those of the nearest hosts that resemble the host.
func misspelt(host string, near []string) []string {
	return slices.DeleteFunc(slices.Clone(near), func(h string) bool {
		rank, _ := hostNearness(host, h)
		return rank > 0
	})
}

// nearestPaths returns the paths of the level that are nearest to a request that none of them
// matches, and how many others there are.
func nearestPaths(level *precedence.Level, q routing.Request) ([]Near, int) {
	if level == nil || level.Closed {
		return []Near{}, 0
	}
	type ranked struct {
		Near
		unlike bool
		text   int
	}
	var all []ranked
	done := map[string]bool{}
	for _, r := range level.Routes {
		if r.Through != nil {
			continue
		}
		n := Near{Path: r.Path.String(), Source: r.Source.String(), Why: whyNot(r, q.Path)}
		if done[n.Path+n.Why] {
			continue
		}
		done[n.Path+n.Why] = true
		all = append(all, ranked{n, !spelling.Resembles(r.Path.Value, q.Path),
			-commonLength(strings.ToLower(r.Path.Value), strings.ToLower(q.Path))})
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		return cmp.Or(compareTrue(a.Why != "", b.Why != ""), compareTrue(!a.unlike, !b.unlike),
			cmp.Compare(a.text, b.text))
	})
	out := []Near{}
	for _, r := range all[:min(len(all), mostNear)] {
		out = append(out, r.Near)
	}
	return out, len(all) - len(out)
}

// otherPorts returns the ports that have a route for a request whose own port has none, but not those that redirect to it.
func otherPorts(p program.Program, q Question, known Endpoints) []OtherPort {
	out := []OtherPort{}
	for _, l := range p.Table.Listeners {
		url := p.Table.URL(l.Port, routing.Host(q.Request.Hostname()), q.Request.Path)
		if q.Query != "" {
			url += "?" + q.Query
		}
		there, err := Ask(url)
		if err != nil {
			continue
		}
		there.Request.Method, there.Request.Header, there.Request.Source = q.Request.Method, q.Request.Header, q.Request.Source
		said := p.Table.Match(there.Request)
		outcome := OutcomeOf(p, said.Action, there, known)
		if said.Route != nil && outcome.Location != q.Asked {
			out = append(out, OtherPort{l.Port, there.Asked, outcome, said.Source.String()})
		}
	}
	return out
}

// whyNot returns the reason why a route does not match a path that a reader could take for its own;
// "" for other paths.
func whyNot(r *routing.Route, path string) string {
	value := r.Path.Value
	below := strings.HasPrefix(path, strings.TrimSuffix(value, "/")+"/")
	switch {
	case r.Path.Matches(path) && len(r.When) > 0:
		return fmt.Sprintf("%s needs %s", r.Path, r.When)
	case r.Path.Type == routing.Exact && (below || strings.TrimSuffix(value, "/") == path):
		return fmt.Sprintf("%s does not cover %s", r.Path, path)
	case strings.EqualFold(value, path):
		return fmt.Sprintf("the case of %s counts", r.Path)
	case r.Path.Type == routing.Prefix && strings.HasPrefix(path, value):
		return fmt.Sprintf("%s covers %s and %s/…, not %s", r.Path, value, value, path)
	}
	return ""
}

func commonLength(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// compareTrue puts true before false.
func compareTrue(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
