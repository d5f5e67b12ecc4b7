package replay

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file has the load balancers, and finds the one of a line.

// A Balancer is a load balancer whose lines are replayed.
type Balancer struct {
	Table *precedence.Table
	// After is the table after a change; nil if the load balancer does not exist then.
	After *precedence.Table
	// Observed is the load balancer in the cloud. Priorities and target groups that do not exist there
	// yet are not known.
	Observed *lb.Observed
	// Assumed: Observed counts as being in the cloud, even if it is from a plan that creates the load balancer. Its
	// priorities are those of that plan, and may have changed since.
	Assumed bool
	Dialect lb.Dialect
	// Foreign has the priorities of foreign rules that the class keeps, by port.
	Foreign map[int32][]int
	// Names has further names of the load balancer in logs, besides those in its key and in the cloud.
	// A * at the end of one stands for any end.
	Names []string
	// Naming is that of the controller that made the target groups in the lines; nil if they are Fairlead's.
	Naming *Naming
}

// A Setup has the load balancers that lines are replayed against.
type Setup struct {
	Balancers []Balancer
	Change    bool // the effect of a change is computed
}

// A balancer is a Balancer with cached results.
type balancer struct {
	key       lb.Key
	table     *table
	after     *table
	planned   bool                  // its rules are from a plan
	listeners map[int32]*listener   // nil: rules are not known
	groups    map[string]lb.GroupID // by ARN
	complete  bool                  // the ARNs of all target groups are known
	services  *services             // nil if names of target groups say nothing
	hosts     map[string]*host      // by host and port in lines
}

func newBalancer(setup *Balancer) *balancer {
	b := &balancer{key: setup.Table.Key, table: newTable(setup.Table),
		hosts: map[string]*host{}}
	if setup.After != nil {
		b.after = newTable(setup.After)
	}
	o := setup.Observed
	if o == nil || !o.Exists || o.Handle == "" && !setup.Assumed {
		b.services = newServices(setup.Naming, setup.Table)
		return b
	}
	b.planned = o.Handle == ""
	b.listeners, b.groups, b.complete = map[int32]*listener{}, map[string]lb.GroupID{}, true
	for i := range o.Listeners {
		if b.planned || exists(&o.Listeners[i]) {
			b.listeners[o.Listeners[i].Port] = newListener(&o.Listeners[i], setup.Dialect)
			b.listeners[o.Listeners[i].Port].markForeign(setup.Foreign[o.Listeners[i].Port])
		}
	}
	for _, g := range o.TargetGroups {
		if g.Handle == "" {
			b.complete = false
			continue
		}
		b.groups[g.Handle] = g.ID
	}
	return b
}

// exists reports whether a listener is in the cloud with all its rules. New rules may get other
// priorities than in the plan.
func exists(l *lb.ObservedListener) bool {
	planned := func(r lb.ObservedRule) bool { return r.Handle == "" }
	return l.Handle != "" && !slices.ContainsFunc(l.Rules, planned)
}

// handleMark precedes the name in the ARN of a load balancer
// (arn:aws:elasticloadbalancing:region:account:loadbalancer/app/name/id).
const handleMark = ":loadbalancer/"

// hasName reports whether a load balancer has a name in logs: app/name/id.
func (s *Balancer) hasName(name string) bool {
	if s.Observed != nil {
		if _, id, found := strings.Cut(s.Observed.Handle, handleMark); found {
			return id == name
		}
	}
	short := ShortName(name)
	for _, other := range s.Names {
		if other == name || other == short {
			return true
		}
	}
	return s.Table.Key.Name() != "" && s.Table.Key.Name() == short
}

// beginsName returns how much of a name in logs a name with a * begins; 0 if none does.
func (s *Balancer) beginsName(name string) (length int) {
	short := ShortName(name)
	for _, other := range s.Names {
		if start, open := strings.CutSuffix(other, "*"); open && strings.HasPrefix(short, start) {
			length = max(length, len(start))
		}
	}
	return length
}

// ShortName returns the name of a load balancer without type and ID.
func ShortName(name string) string {
	if parts := strings.Split(name, "/"); len(parts) == 3 {
		return parts[1]
	}
	return name
}

// hasKnownName reports whether the name of the load balancer in logs is known.
func (s *Balancer) hasKnownName() bool {
	return len(s.Names) > 0 || s.Table.Key.Name() != "" ||
		s.Observed != nil && strings.Contains(s.Observed.Handle, handleMark)
}

// balancerNamed returns the index of the load balancer with a name, or with the longest beginning of one,
// or -1. If there is only one, and its name is not known, all lines count as its.
func (s *Setup) balancerNamed(name string) int {
	for i := range s.Balancers {
		if s.Balancers[i].hasName(name) {
			return i
		}
	}
	best, longest := -1, 0
	for i := range s.Balancers {
		if n := s.Balancers[i].beginsName(name); n > longest {
			best, longest = i, n
		}
	}
	if best >= 0 {
		return best
	}
	if len(s.Balancers) == 1 && !s.Balancers[0].hasKnownName() {
		return 0
	}
	return -1
}
