package precedence

import (
	"cmp"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file is for tables whose routes are in order: the first route that matches a request answers
// it, whatever its host.
//
// The levels stay, and misses go on to less specific hosts. So most routes are where they are in any
// table: what a less specific host has behind the last route of a host is met there. What it has
// before that is repeated in the level of the host, in its place.

// inOrder compares routes by the order of their Ingresses, then by their position.
func inOrder(a, b *routing.Route) int {
	return cmp.Or(routing.Before(a.Owner, b.Owner), cmp.Compare(a.Index, b.Index))
}

// opensNames reports whether a host that is named on another port only is like any other host.
func (t *Table) opensNames() bool {
	return t.Precedence == routing.InOrder && !t.HostsOwned
}

// repeatEarlier puts the routes of less specific hosts that come before a route of a more specific
// one into its level, too, unless they have a condition that the host does not fulfil. If hosts have
// owners, none of another namespace. What is of no Ingress, as it is in the cloud only, is met by misses
// there.
func (t *Table) repeatEarlier() {
	if t.Precedence != routing.InOrder {
		return
	}
	for _, l := range t.Listeners {
		pt := t.ports[l.Port]
		for _, level := range slices.Backward(t.Levels(l.Port)) { // wildcards before precise hosts
			t.repeatEarlierIn(pt, level)
		}
	}
}

func (t *Table) repeatEarlierIn(pt *portTable, level *Level) {
	if len(level.Routes) == 0 || level.Host == routing.Any {
		return
	}
	last := level.Routes[len(level.Routes)-1]
	all := level.Routes
	for _, below := range level.Next {
		for _, r := range below.Routes {
			if r.Host != below.Host || r.Owner.Name == "" || inOrder(r, last) >= 0 {
				continue
			}
			if _, may := r.When.OnHost(level.Host); may {
				all = append(slices.Clip(all), r)
			}
		}
	}
	if len(all) == len(level.Routes) {
		return
	}
	if t.repeat(pt, level, len(all)-len(level.Routes)) {
		level.Closed, level.Next = true, nil
		pt.late = append(pt.late, last)
		return
	}
	slices.SortStableFunc(all, inOrder)
	level.Routes = all
}

// tooMuchBefore says that too many routes of less specific hosts come before others.
func (t *Table) tooMuchBefore() string {
	whose := ""
	if t.HostsOwned {
		whose = " of one namespace"
	}
	return fmt.Sprintf("more than %d paths of rules%s without a host or with a wildcard that come "+
		"before those of its more specific hosts, counted for each of these hosts", mostPassedOver, whose)
}

const giveHigherOrder = "give the Ingresses with these rules a higher order"

// reportLate reports, once for each Ingress, routes of hosts that are closed because too many routes
// of less specific hosts come before them.
func (t *Table) reportLate(notes map[diag.Diagnostic]bool) {
	done := map[string]bool{}
	for _, l := range t.Listeners {
		for _, r := range t.ports[l.Port].late {
			if owner := r.Owner.String(); !done[owner] {
				done[owner] = true
				notes[diag.Diagnostic{Severity: diag.Error, Reason: diag.TooComplex, Source: r.Source,
					Message: fmt.Sprintf("there are %s: this host and others are answered 404; %s",
						t.tooMuchBefore(), giveHigherOrder)}] = true
			}
		}
	}
}
