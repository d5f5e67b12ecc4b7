package adopt

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
)

// This file finds listeners that no Ingress asks for. They stay as they are, unless their class says otherwise.

// staying returns these listeners. In a load balancer that is taken over, those count that others still have.
func staying(o *lb.Other, w Wanted) (out []lb.ObservedListener) {
	for _, l := range o.Listeners {
		l.Others = l.Others || o.Key == ""
		if w.LoadBalancer.Leaves(&l) {
			out = append(out, l)
		}
	}
	return out
}

// without returns a found load balancer without listeners that stay, and says of target groups that only these name why
// they are left.
func without(o *lb.Other, stay []lb.ObservedListener, left map[lb.GroupID]string) *lb.Other {
	if len(stay) == 0 {
		return o
	}
	out := *o
	out.Listeners = slices.DeleteFunc(slices.Clone(o.Listeners), func(l lb.ObservedListener) bool {
		return slices.ContainsFunc(stay, func(s lb.ObservedListener) bool { return s.Port == l.Port })
	})
	theirs, named := map[string]bool{}, namersOf(out.Listeners)
	for id, ports := range namersOf(stay) {
		if _, known := left[id]; known && named[id] == nil {
			left[id] = "it stays, for port " + strings.Join(ports, ", ")
			for _, g := range o.TargetGroups {
				theirs[g.Handle] = theirs[g.Handle] || g.ID == id
			}
		}
	}
	for _, l := range stay {
		theirs[l.Handle] = true
		for _, r := range l.Rules {
			theirs[r.Handle] = true
		}
	}
	out.Oddities = slices.DeleteFunc(slices.Clone(o.Oddities), func(odd lb.Oddity) bool { return theirs[odd.Handle] })
	return &out
}

// namersOf returns the ports of the listeners that name each target group.
func namersOf(listeners []lb.ObservedListener) map[lb.GroupID][]string {
	out := map[lb.GroupID][]string{}
	for _, l := range listeners {
		port := fmt.Sprint(l.Port)
		note := func(a lb.Action) {
			for _, id := range a.Groups() {
				if !slices.Contains(out[id], port) {
					out[id] = append(out[id], port)
				}
			}
		}
		note(l.Default)
		for _, r := range l.Rules {
			note(r.Action)
		}
	}
	return out
}

// shut says that a listener that stays would no longer be reached; "" if it is. The class names no security groups, and the
// load balancer has none that the operator would go on with.
func (c *Comparison) shut(o *lb.Other, w Wanted) string {
	if len(c.Stay) == 0 || len(w.LoadBalancer.Settings.SecurityGroups) > 0 ||
		slices.ContainsFunc(c.Resources, func(r Resource) bool { return r.Kind == SecurityGroup && isManaged(o, r.Handle) }) {
		return ""
	}
	return fmt.Sprintf("its security groups would be replaced, and clients could no longer connect to port %d, for which no Ingress "+
		"asks and which stays: name these security groups in securityGroups of the class, or set its unknownListeners: Remove",
		c.Stay[0].Port)
}
