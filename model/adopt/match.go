package adopt

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// A Wanted is the load balancer that Ingresses ask for.
type Wanted struct {
	Table        *precedence.Table
	LoadBalancer lb.LoadBalancer
}

// A Comparison has the differences between a found load balancer and the wanted one.
type Comparison struct {
	// Groups maps found target groups to wanted ones. Several found ones can be one wanted one: a cloud can have a target
	// group for each Ingress that names a Service.
	Groups map[lb.GroupID]lb.GroupID
	// Report has the requests that get another answer. Before is the answer of the found load balancer.
	compare.Report
	// Settings has the settings that differ.
	Settings []Difference
	// Left has the found target groups that are no wanted one.
	Left []lb.GroupID
}

// Compare compares a found load balancer with the wanted one.
func Compare(f lb.Other, w Wanted, d lb.Dialect, b requests.Budget) Comparison {
	config := configOf(&f.Observed, d)
	config.Key = w.Table.Key
	knowSecrets(config, w.Table)
	wanted := []*precedence.Table{w.Table}
	found := precedence.New(config)
	// In a first comparison all target groups differ, so each pair that gets the same requests is in it.
	pairs := votes{}
	for _, c := range compare.Tables([]*precedence.Table{found}, wanted, b).Changes {
		r := c.Request.Routed
		pairs.add(found.Match(r).Action, w.Table.Match(r).Action)
	}
	out := Comparison{Groups: pairs.choose(f, w.LoadBalancer)}
	renamed := precedence.New(rename(config, out.Groups))
	out.Report = compare.Tables([]*precedence.Table{renamed}, wanted, b)
	out.Settings = differences(f, w.LoadBalancer, out.Groups)
	for _, g := range f.TargetGroups {
		if _, known := out.Groups[g.ID]; !known {
			out.Left = append(out.Left, g.ID)
		}
	}
	return out
}

// A vote counts the classes of requests that a found target group and a wanted one both get.
type vote struct{ found, wanted lb.GroupID }

type votes map[vote]int

// add counts what two actions forward to. Of several target groups, those with equal weights correspond.
func (v votes) add(found, wanted routing.Action) {
	for _, a := range found.Forward {
		for _, b := range wanted.Forward {
			if len(found.Forward) == len(wanted.Forward) && (a.Weight == b.Weight || len(found.Forward) == 1) {
				v[vote{a.Backend, b.Backend}]++
			}
		}
	}
}

// choose returns the wanted target group of each found one: of those that it can become, one of its Service, if its
// tags name one, and otherwise the one that gets most of the same requests.
func (v votes) choose(f lb.Other, w lb.LoadBalancer) map[lb.GroupID]lb.GroupID {
	out := map[lb.GroupID]lb.GroupID{}
	for _, g := range f.TargetGroups {
		may := slices.DeleteFunc(slices.Clone(w.TargetGroups), func(want lb.TargetGroup) bool {
			tags := f.Tags[g.Handle]
			if tags[tagResource] != "" {
				return !becomes(g.TargetGroup, want) || !isOfService(tags, want.Service)
			}
			return !becomes(g.TargetGroup, want) || v[vote{g.ID, want.ID}] == 0
		})
		if len(may) > 0 {
			out[g.ID] = slices.MaxFunc(may, func(a, b lb.TargetGroup) int {
				return cmp.Or(cmp.Compare(v[vote{g.ID, a.ID}], v[vote{g.ID, b.ID}]), cmp.Compare(b.ID, a.ID))
			}).ID
		}
	}
	return out
}

// becomes reports whether a target group has all properties of another one that cannot change.
func becomes(found, want lb.TargetGroup) bool {
	return found.TargetType == want.TargetType && found.Protocol == want.Protocol && found.Version == want.Version &&
		cmp.Or(found.Family, "ipv4") == cmp.Or(want.Family, "ipv4")
}
