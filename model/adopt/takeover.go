package adopt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/planner"
)

// This file says how a found load balancer becomes the wanted one.

// Was begins the names under which a resource that was taken over keeps the tags of its former owner.
const Was = "fairlead.dev/was/"

// FormerlyOfController returns the tags of the load balancers that were taken over from the controller, of any cluster. The
// controller finds nothing that lacks the tag of its cluster (its pkg/deploy/elbv2/tagging_manager.go), so that this one has
// another name.
func FormerlyOfController() map[string]string { return map[string]string{Was + tagCluster: ""} }

// WithFormerTags returns a load balancer that was taken over, in part or whole, as it was: its resources have their
// former tags under their former names, too.
func WithFormerTags(o lb.Other) lb.Other {
	tags := map[string]map[string]string{}
	for handle, of := range o.Tags {
		all := maps.Clone(of)
		for name, value := range of {
			if former, kept := strings.CutPrefix(name, Was); kept {
				all[former] = value
			}
		}
		tags[handle] = all
	}
	o.Tags = tags
	return o
}

// NeedsConsent reports whether a takeover changes an answer or a setting, or may do so. A setting that nothing asks for
// stays, and needs none.
func (c *Comparison) NeedsConsent() bool {
	return !c.Empty() || len(c.NotUnderstood) > 0 ||
		slices.ContainsFunc(c.Settings, func(d Difference) bool { return !d.Stays })
}

// Consent says what a takeover would change, of each kind how much and an example.
func (c *Comparison) Consent() string {
	var out []string
	add := func(n int, what, example string) {
		if n > 0 {
			out = append(out, fmt.Sprintf("%s (%d), such as %s", what, n, example))
		}
	}
	if len(c.Changes) > 0 {
		first := c.Changes[0]
		add(len(c.Changes), "some requests get another answer", fmt.Sprintf("%s: %s, and then %s", first.Curl, first.Before.Action,
			first.After.Action))
	}
	if len(c.Undecided) > 0 {
		add(len(c.Undecided), "some requests are not decided", c.Undecided[0].Why)
	}
	if len(c.Exposures) > 0 {
		first := c.Exposures[0]
		add(len(c.Exposures), "settings of exposure change", fmt.Sprintf("%s: %s, and then %s", first.Setting, first.Before, first.After))
	}
	asked := slices.DeleteFunc(slices.Clone(c.Settings), func(d Difference) bool { return d.Stays })
	if len(asked) > 0 {
		first := asked[0]
		add(len(asked), "settings change", fmt.Sprintf("%s, %s: %s, and then %s", first.Of, first.Setting, first.Found, first.Wanted))
	}
	if len(c.NotUnderstood) > 0 {
		add(len(c.NotUnderstood), "something is not understood", c.NotUnderstood[0])
	}
	return strings.Join(out, "; ")
}

// Obstacles says what keeps a found load balancer from becoming the wanted one, also with consent.
func (c *Comparison) Obstacles(o *lb.Other, w Wanted) (out []string) {
	if name := w.LoadBalancer.Key.Name(); name != o.Name {
		out = append(out, fmt.Sprintf("its name is %s, and the class gives the name %q to %s: set adoption of the class, with the "+
			"name of the cluster and, in names, this one", o.Name, name, w.LoadBalancer.Key))
	}
	if o.Read == nil || o.Read.LoadBalancer == nil {
		out = append(out, "its settings were not read")
	} else if found, want := o.Read.LoadBalancer.Scheme, w.LoadBalancer.Key.Scheme(); found != want {
		out = append(out, fmt.Sprintf("its scheme is %s, and the Ingresses ask for %s, which needs another load balancer", found, want))
	}
	if why := c.shut(o, w); why != "" {
		out = append(out, why)
	}
	if own := w.LoadBalancer.Settings.SecurityGroups; len(own) > 0 && slices.ContainsFunc(settingsOf(readOf(o)).SecurityGroups,
		func(g string) bool { return isShared(o, g) && !slices.Contains(own, g) }) {
		out = append(out, fmt.Sprintf("the controller opens the nodes to it (manage-backend-security-group-rules), which Fairlead "+
			"does not do beside security groups of yours: open the ports of the targets to %s, and remove the annotation while the "+
			"controller runs", strings.Join(own, " or ")))
	}
	for _, l := range w.LoadBalancer.Listeners {
		if found := o.Listener(l.Port); found != nil && found.Protocol != l.Protocol {
			out = append(out, fmt.Sprintf("port %d is %s, and the Ingresses ask for %s: the port would close for a moment",
				l.Port, found.Protocol, l.Protocol))
		}
	}
	return out
}

// readOf returns the settings that were read.
func readOf(o *lb.Other) lb.ReadSettings {
	if o.Read == nil {
		return lb.ReadSettings{}
	}
	return *o.Read
}

// Takeover returns which parts become which wanted ones. A listener with the same answers keeps its rules.
func (c *Comparison) Takeover(o *lb.Other, w Wanted) lb.Takeover {
	out := lb.Takeover{Want: w.LoadBalancer, Groups: map[string]lb.GroupID{}, Differ: map[string]bool{}, Shapes: map[int32]string{},
		Stay: map[string]bool{}}
	for _, l := range c.Stay {
		out.Stay[l.Handle] = true
	}
	handles := map[string][]string{"load balancer": {o.Handle}}
	ids := map[lb.GroupID]lb.GroupID{}
	for _, r := range c.Resources {
		switch {
		case r.Kind == TargetGroup && r.Wanted != "" && r.Wanted != r.Handle: // not one that an Ingress names
			out.Groups[r.Handle], ids[lb.GroupID(r.Handle)] = lb.GroupID(r.Wanted), lb.GroupID(r.Wanted)
			of := "target group " + r.Wanted
			handles[of] = append(handles[of], r.Handle)
		case r.Kind == SecurityGroup && isManaged(o, r.Handle) && len(w.LoadBalancer.Settings.SecurityGroups) == 0:
			out.Firewall = r.Handle
		case r.Kind == SecurityGroup && isShared(o, r.Handle) &&
			!slices.Contains(w.LoadBalancer.Settings.SecurityGroups, r.Handle):
			out.Kept = append(out.Kept, r.Handle)
		}
	}
	for _, l := range o.Listeners {
		handles[fmt.Sprintf("listener %d", l.Port)] = []string{l.Handle}
	}
	for _, d := range c.Settings {
		for _, handle := range handles[d.Of] {
			out.Differ[handle] = out.Differ[handle] || !d.Stays
		}
	}
	maps.DeleteFunc(out.Differ, func(_ string, differs bool) bool { return !differs })
	for _, want := range w.LoadBalancer.Listeners {
		l := o.Listener(want.Port)
		if l == nil || c.changes(want.Port) {
			continue
		}
		out.Shapes[want.Port] = planner.ShapeOf(renamed(*l, ids), want)
	}
	return out
}

// changes reports whether some request to a port gets another answer, or may get one.
func (c *Comparison) changes(port int32) bool {
	for _, change := range c.Changes {
		if change.Port == port {
			return true
		}
	}
	for _, u := range c.Undecided {
		if u.Port == port {
			return true
		}
	}
	return len(c.NotUnderstood) > 0
}

// renamed returns a listener with the IDs of target groups that they will have.
func renamed(l lb.ObservedListener, ids map[lb.GroupID]lb.GroupID) lb.ObservedListener {
	with := func(a lb.Action) lb.Action {
		a.Targets = slices.Clone(a.Targets)
		for i := range a.Targets {
			if id := ids[a.Targets[i].Group]; id != "" {
				a.Targets[i].Group = id
			}
		}
		return a
	}
	l.Default, l.Rules = with(l.Default), slices.Clone(l.Rules)
	for i := range l.Rules {
		l.Rules[i].Action = with(l.Rules[i].Action)
	}
	return l
}

// Changed says what the former owner of a load balancer that was taken over will change when it gets it back: what is no
// longer as it was found. seen is the load balancer as Fairlead sees it, and tags are those of its parts. If no controller made
// it, it is only said which rules are not.
func Changed(seen *lb.Observed, tags map[string]map[string]string, byHand bool) (out []string) {
	for _, l := range seen.Listeners {
		if !l.Others && !planner.AsFound(l) {
			out = append(out, fmt.Sprintf("the rules of port %d, which Fairlead has changed", l.Port))
		}
	}
	for _, g := range seen.TargetGroups {
		if _, kept := tags[g.Handle][Was+tagCluster]; !kept && !byHand {
			out = append(out, fmt.Sprintf("target group %s, which Fairlead made: the controller makes one of its own", g.ID))
		}
	}
	return out
}
