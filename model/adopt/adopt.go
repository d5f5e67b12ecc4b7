// Package adopt compares a load balancer that the AWS Load Balancer Controller made with the one that Ingresses ask for:
// which requests get another answer, which of its target groups is which wanted one, and which settings differ.
//
// It hides how rules of a cloud are read as routes, so that package compare, which finds all differences between
// routing tables, finds those between rules and routes. What it does not understand is a difference.
package adopt

import (
	"cmp"
	"fmt"
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
	Dialect      lb.Dialect
	// PortNames has the names of ports of Services (namespace/name), by their numbers.
	PortNames map[string]map[string]string
	// AnySubnets: nothing asks for subnets, so that those of the load balancer stay.
	AnySubnets bool
	// Named has the wanted target groups that people name for found ones, by their handles.
	Named map[string]lb.GroupID
}

// A Comparison has the differences between a found load balancer and the wanted one.
type Comparison struct {
	// Resources are the parts of the found load balancer.
	Resources []Resource
	// Report has the requests that get another answer, and the settings of exposure. Before is what was found.
	compare.Report
	// Settings has the other settings that differ.
	Settings []Difference
	// NotUnderstood says what was found that Fairlead cannot compare: there, anything may differ.
	NotUnderstood []string
	// Left has the found target groups that are no wanted one, with the reason, and Missing the wanted ones that were not
	// found. Those that get requests are in the Report.
	Left    map[lb.GroupID]string
	Missing []lb.GroupID
	// Stay has the found listeners that no Ingress asks for, and that stay as they are. They are not compared.
	Stay []lb.ObservedListener
}

// Same reports whether no difference was found.
func (c *Comparison) Same() bool {
	return c.Empty() && len(c.Settings)+len(c.NotUnderstood) == 0
}

// A Kind is a kind of Resource.
type Kind string

// The kinds of Resources.
const (
	LoadBalancer  Kind = "load balancer"
	Listener      Kind = "listener"
	Rule          Kind = "rule"
	TargetGroup   Kind = "target group"
	SecurityGroup Kind = "security group"
)

// A Resource is a part of a found load balancer.
type Resource struct {
	Kind   Kind              `json:"kind"`
	Handle string            `json:"handle"` // its name in the cloud, such as an ARN
	Tags   map[string]string `json:"tags,omitempty"`
	// Wanted is what it is of the wanted load balancer: the key of a load balancer, the port of a listener, the ID of a
	// target group, of which several can be one; "" for the other kinds, and if it is not wanted.
	Wanted string `json:"wanted,omitempty"`
	// Stays: it is a listener that no Ingress asks for, or a rule of one, and stays as it is.
	Stays bool `json:"stays,omitempty"`
}

// Compare compares a found load balancer with the wanted one.
func Compare(o *lb.Other, w Wanted, b requests.Budget) Comparison {
	out := Comparison{}
	var groups map[lb.GroupID]lb.GroupID
	groups, out.Left = matchGroups(o, w)
	out.Stay = staying(o, w)
	out.Resources = resources(o, w, groups, out.Stay)
	o = without(o, out.Stay, out.Left)
	found, odd := configOf(o, w.Dialect)
	out.NotUnderstood = slices.Concat(odd, oddities(o))
	want := w.Table.Config
	level(&found, &want, o)
	knowSecrets(&found, &want)
	before, after := precedence.New(canonical(found, groups)), precedence.New(canonical(want, nil))
	out.Report = compare.Tables([]*precedence.Table{before}, []*precedence.Table{after}, b)
	out.Settings = differences(o, w, groups)
	for _, g := range w.LoadBalancer.TargetGroups {
		if !slices.ContainsFunc(o.TargetGroups, func(f lb.ObservedTargetGroup) bool { return groups[f.ID] == g.ID }) {
			out.Missing = append(out.Missing, g.ID)
		}
	}
	return out
}

// matchGroups returns which wanted target group each found one is. The tags alone decide: several found ones can get the
// same requests, and be of different Services. left has the reason for those that are none.
func matchGroups(o *lb.Other, w Wanted) (groups map[lb.GroupID]lb.GroupID, left map[lb.GroupID]string) {
	groups, left = map[lb.GroupID]lb.GroupID{}, map[lb.GroupID]string{}
	byResource := resourcesOf(w)
	for _, g := range o.TargetGroups {
		tags := o.Tags[g.Handle]
		wanted := byResource[tags[tagResource]]
		if id := w.Named[g.Handle]; id != "" {
			if left[g.ID] = fixedDifference(g.TargetGroup, w, id); left[g.ID] == "" {
				delete(left, g.ID)
				groups[g.ID] = id
			}
			continue
		}
		if lb.OthersMade(g.ID) && w.Table.Backends[g.ID].TargetGroup != "" {
			groups[g.ID] = g.ID // an Ingress names it
			continue
		}
		switch {
		case tags[tagResource] == "":
			left[g.ID] = "it has no tag that says of which Service it is"
		case tags[tagCluster] != ClusterOf(o) || tags[tagStack] != Stack(o):
			left[g.ID] = fmt.Sprintf("it is of %s in cluster %s", cmp.Or(tags[tagStack], "nothing"), tags[tagCluster])
		case len(wanted) == 0:
			left[g.ID] = "no Ingress asks for " + tags[tagResource]
		case len(wanted) > 1:
			left[g.ID] = fmt.Sprintf("%s can be any of %v", tags[tagResource], wanted)
		default:
			left[g.ID] = fixedDifference(g.TargetGroup, w, wanted[0])
		}
		if left[g.ID] == "" {
			delete(left, g.ID)
			groups[g.ID] = wanted[0]
		}
	}
	return groups, left
}

// fixedDifference says in which property that cannot change a target group differs from a wanted one; "" if in none.
func fixedDifference(g lb.TargetGroup, w Wanted, id lb.GroupID) string {
	at := slices.IndexFunc(w.LoadBalancer.TargetGroups, func(want lb.TargetGroup) bool { return want.ID == id })
	if at < 0 {
		return "no rule would forward to " + string(id)
	}
	want := w.LoadBalancer.TargetGroups[at]
	for _, p := range []struct{ name, found, wanted string }{
		{"target type", g.TargetType, want.TargetType}, {"protocol", string(g.Protocol), string(want.Protocol)},
		{"protocol version", string(g.Version), string(want.Version)},
		{"IP family", cmp.Or(g.Family, "ipv4"), cmp.Or(want.Family, "ipv4")},
	} {
		if p.found != p.wanted {
			return fmt.Sprintf("its %s is %s, and that of %s is %s, which cannot be changed", p.name, p.found, id, p.wanted)
		}
	}
	return ""
}

// resources returns the parts of a load balancer.
func resources(o *lb.Other, w Wanted, groups map[lb.GroupID]lb.GroupID, stay []lb.ObservedListener) (out []Resource) {
	stays := false
	add := func(kind Kind, handle, wanted string) {
		out = append(out, Resource{kind, handle, o.Tags[handle], wanted, stays})
	}
	add(LoadBalancer, o.Handle, string(w.LoadBalancer.Key))
	for _, l := range o.Listeners {
		stays = slices.ContainsFunc(stay, func(s lb.ObservedListener) bool { return s.Port == l.Port })
		port := ""
		if slices.ContainsFunc(w.LoadBalancer.Listeners, func(want lb.Listener) bool { return want.Port == l.Port }) {
			port = fmt.Sprint(l.Port)
		}
		add(Listener, l.Handle, port)
		for _, r := range l.Rules {
			add(Rule, r.Handle, "")
		}
	}
	stays = false
	for _, g := range o.TargetGroups {
		add(TargetGroup, g.Handle, string(groups[g.ID]))
	}
	if o.Read != nil && o.Read.LoadBalancer != nil {
		for _, g := range o.Read.LoadBalancer.SecurityGroups {
			add(SecurityGroup, g, "")
		}
	}
	return out
}

// oddities says what was found and is not understood, besides rules and default actions.
func oddities(o *lb.Other) (out []string) {
	of := map[string]string{o.Handle: "load balancer"}
	for _, l := range o.Listeners {
		of[l.Handle] = fmt.Sprintf("listener %d", l.Port)
		for _, r := range l.Rules {
			of[r.Handle] = "" // said by configOf
		}
	}
	for _, odd := range o.Oddities {
		name, known := of[odd.Handle]
		if !known {
			name = odd.Handle
		}
		if name != "" {
			out = append(out, name+": "+odd.What)
		}
	}
	for _, why := range o.Unread {
		out = append(out, "it was not read: "+why)
	}
	return out
}

// knowSecrets gives found sign-ins the client secrets of equal wanted ones, which a cloud does not return.
func knowSecrets(found, wanted *routing.Config) {
	known := map[string]*routing.Auth{}
	eachAction(wanted, func(a *routing.Action) {
		if a.Auth != nil {
			known[a.Auth.Key()] = a.Auth
		}
	})
	eachAction(found, func(a *routing.Action) {
		if a.Auth != nil && known[a.Auth.Key()] != nil {
			a.Auth = known[a.Auth.Key()]
		}
	})
}

// eachAction calls a function for the action of each route and default.
func eachAction(c *routing.Config, do func(*routing.Action)) {
	for i := range c.Routes {
		do(&c.Routes[i].Action)
	}
	for i := range c.Defaults {
		do(&c.Defaults[i].Action)
	}
}
