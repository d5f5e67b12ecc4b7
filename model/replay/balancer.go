package replay

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file holds load balancers, and finds that of a line.

// A Balancer is a load balancer whose lines are replayed.
type Balancer struct {
	Table *precedence.Table
	// After is the table once a change is made; nil if the load balancer is gone then.
	After *precedence.Table
	// Observed is the load balancer in the cloud. Priorities and target groups of what does not exist
	// there yet are not known.
	Observed *lb.Observed
	// Told says that Observed is said to be in the cloud, even if it is of a plan that makes a new
	// load balancer: it gets the priorities of that plan, and may have got others since.
	Told    bool
	Dialect lb.Dialect
	// Foreign are the priorities of rules, by port, that Fairlead did not create and that the class
	// keeps.
	Foreign map[int32][]int
	// Names are names of the load balancer in logs, besides those in its key and in the cloud.
	Names []string
}

// A Setup is what lines are replayed against.
type Setup struct {
	Balancers []Balancer
	Change    bool // there is a change, whose effect is asked for
}

// A balancer is one with what was found out about it.
type balancer struct {
	key       lb.Key
	table     *table
	after     *table
	planned   bool                  // its rules are those of a plan
	listeners map[int32]*listener   // nil: rules are not known
	groups    map[string]lb.GroupID // by ARN
	complete  bool                  // the ARNs of all target groups are known
	hosts     map[string]*host      // by what lines say
}

func newBalancer(setup *Balancer) *balancer {
	b := &balancer{key: setup.Table.Key, table: newTable(setup.Table),
		hosts: map[string]*host{}}
	if setup.After != nil {
		b.after = newTable(setup.After)
	}
	o := setup.Observed
	if o == nil || !o.Exists || o.Handle == "" && !setup.Told {
		return b
	}
	b.planned = o.Handle == ""
	b.listeners, b.groups, b.complete = map[int32]*listener{}, map[string]lb.GroupID{}, true
	for i := range o.Listeners {
		if b.planned || exists(&o.Listeners[i]) {
			b.listeners[o.Listeners[i].Port] = newListener(&o.Listeners[i], setup.Dialect)
			b.listeners[o.Listeners[i].Port].foreign(setup.Foreign[o.Listeners[i].Port])
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

// exists reports whether a listener is in the cloud with all its rules. A plan gives rules that do
// not exist yet other priorities than they may get.
func exists(l *lb.ObservedListener) bool {
	planned := func(r lb.ObservedRule) bool { return r.Handle == "" }
	return l.Handle != "" && !slices.ContainsFunc(l.Rules, planned)
}

// handleMark stands before the name in the ARN of a load balancer
// (arn:aws:elasticloadbalancing:region:account:loadbalancer/app/name/id).
const handleMark = ":loadbalancer/"

// answersTo reports whether a load balancer is the one of a name in logs: app/name/id.
func (s *Balancer) answersTo(name string) bool {
	if s.Observed != nil {
		if _, id, found := strings.Cut(s.Observed.Handle, handleMark); found {
			return id == name
		}
	}
	short := shortName(name)
	for _, told := range s.Names {
		if told == name || told == short {
			return true
		}
	}
	return s.Table.Key.Name() != "" && s.Table.Key.Name() == short
}

// shortName is the name that a load balancer was given.
func shortName(name string) string {
	if parts := strings.Split(name, "/"); len(parts) == 3 {
		return parts[1]
	}
	return name
}

// known reports whether it is known which name the load balancer has in logs.
func (s *Balancer) known() bool {
	return len(s.Names) > 0 || s.Table.Key.Name() != "" ||
		s.Observed != nil && strings.Contains(s.Observed.Handle, handleMark)
}

// find returns the place of the load balancer of a name, or -1. If there is only one, and its name
// is not known, all lines are taken for its.
func (s *Setup) find(name string) int {
	for i := range s.Balancers {
		if s.Balancers[i].answersTo(name) {
			return i
		}
	}
	if len(s.Balancers) == 1 && !s.Balancers[0].known() {
		return 0
	}
	return -1
}
