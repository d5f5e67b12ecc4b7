package expectations

import (
	"reflect"
	"slices"
	"sync"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file finds the routes that are served now, for comparison with a plan.

// A Change is a load balancer with the plan that is to change it.
type Change struct {
	Snapshot ingress.Snapshot
	// Departed are the Ingresses that it still serves after they have left it.
	Departed     map[string]*networkingv1.Ingress
	Facts        lb.Facts
	Capabilities lb.Capabilities
	Observed     *lb.Observed
	Plan         plan.Plan
	Next         *precedence.Table
}

// A Gate judges plans. For load balancers whose class has expectations it remembers the served
// table: that of the last plan that was carried out. The zero value remembers nothing.
//
// A judgement can take the whole budget of its searches, so a Gate makes one at a time, and
// remembers the verdicts on plans that wait: each reconcile asks for them again.
type Gate struct {
	mu       sync.Mutex
	tables   map[lb.Key]*precedence.Table
	partly   map[lb.Key]bool // a part of a later plan was carried out
	verdicts map[lb.Key][]verdict
	judging  sync.Mutex
}

// A verdict is a judgement, with what it is about.
type verdict struct {
	set       Set
	now, next *precedence.Table
	Judgement
}

// mostVerdicts is the number of verdicts that are remembered for a load balancer: those on a plan, and on the
// plans with less and less of the changes of the namespaces that violate an expectation.
const mostVerdicts = 8

// Judge decides whether a plan may be carried out.
func (g *Gate) Judge(set *Set, c Change) Judgement {
	if set == nil {
		g.Forget(c.Snapshot.Key)
		return Judgement{}
	}
	g.judging.Lock()
	defer g.judging.Unlock()
	v := verdict{set: *set, now: g.servedTable(*set, c), next: c.Next}
	known := g.known(c.Snapshot.Key)
	if at := slices.IndexFunc(known, v.isAbout); at >= 0 {
		return known[at].Judgement
	}
	if v.Judgement = Judge(v.set, v.now, v.next); v.Reason() == "" {
		return v.Judgement // the plan is carried out, or is empty
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.verdicts == nil {
		g.verdicts = map[lb.Key][]verdict{}
	}
	kept := append([]verdict{v}, known...)
	g.verdicts[c.Snapshot.Key] = kept[:min(len(kept), mostVerdicts)]
	return v.Judgement
}

func (g *Gate) known(key lb.Key) []verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.verdicts[key]
}

// isAbout reports whether another verdict is about equal expectations and tables.
func (v verdict) isAbout(o verdict) bool {
	return reflect.DeepEqual(v.set, o.set) && sameTable(v.now, o.now) && sameTable(v.next, o.next)
}

// sameTable compares what two tables are made of.
func sameTable(a, b *precedence.Table) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a == b || reflect.DeepEqual(a.Config, b.Config)
}

// Suspects returns what violates the expectations where all Ingresses are as they were last
// accepted, without some that are left out.
func (g *Gate) Suspects(set *Set, c Change, leftOut []string) Suspects {
	g.judging.Lock()
	defer g.judging.Unlock()
	out := Suspects{alone: map[suspect]bool{}}
	if set == nil {
		return out
	}
	now, last := g.servedTable(*set, c), c.lastAccepted()
	out.next = model.Compile(last.Without(slices.DeleteFunc(slices.Clone(last.Members),
		func(m ingress.Member) bool { return !slices.Contains(leftOut, m.Owner.String()) })),
		c.Facts, c.Capabilities).Table
	for _, o := range Judge(*set, now, out.next).Offences {
		if !out.isGivenUp(o) {
			out.alone[suspect{o.Next, o.Host, o.Port}] = true
		}
	}
	return out
}

// servedTable returns the table that is served now; nil if nothing is. After a restart, that is what
// was last accepted, without the routes that the cloud does not serve: what these violate counts as
// new. So does what others violate on hosts that rules that go keep from them. The same is done while
// expectations cannot be read, if only a part of the last plan was carried out: the routes that this
// part added are not new. Then all that a listener had counts as served where the cloud has lost it, as
// otherwise all Ingresses on it would be left out, on other ports, too. This is not so for an Ingress
// whose version is forgotten: it may have changed.
func (g *Gate) servedTable(set Set, c Change) *precedence.Table {
	g.mu.Lock()
	known := g.tables[c.Snapshot.Key]
	if set.Unread != "" && g.partly[c.Snapshot.Key] {
		known = nil
	}
	g.mu.Unlock()
	switch {
	case !c.Observed.Exists && set.Unread == "":
		return nil
	case c.Plan.Empty():
		return c.Next
	case known != nil:
		return known
	}
	built := model.Compile(c.lastAccepted(), c.Facts, c.Capabilities)
	var lost []int32
	if set.Unread != "" {
		built.LoadBalancer.Listeners = slices.DeleteFunc(built.LoadBalancer.Listeners, func(l lb.Listener) bool {
			isLost := c.Observed.Listener(l.Port) == nil
			if isLost {
				lost = append(lost, l.Port)
			}
			return isLost
		})
	}
	d := differing(c.Observed, built, c.Capabilities.Dialect, c.forgotten())
	d.addForgotten(lost, func(o routing.Owner) bool {
		return c.Snapshot.Recorded.Members[o.String()].LastAccepted == nil
	})
	return d.served(built.Table)
}

// forgotten returns the namespaces of served Ingresses of which the record has no version.
func (c Change) forgotten() (out []string) {
	for name, m := range c.Snapshot.Recorded.Members {
		if m.Served && m.LastAccepted == nil {
			out = append(out, cluster.RefFrom(cluster.KindIngress, name).Namespace)
		}
	}
	return out
}

// lastAccepted returns the snapshot of the last plan: the last accepted versions of Ingresses,
// those that have departed since, the class of that time, and the hosts that were closed.
func (c Change) lastAccepted() ingress.Snapshot {
	s := c.Snapshot
	if s.Recorded.Class != nil {
		s.Class.LoadBalancerClassSpec = *s.Recorded.Class
	}
	s.Closed = s.Recorded.Closed
	return s.AsAccepted(func(routing.Owner) bool { return true }, c.Departed)
}

// Served remembers the table of a plan that was carried out.
func (g *Gate) Served(key lb.Key, table *precedence.Table) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tables == nil {
		g.tables = map[lb.Key]*precedence.Table{}
	}
	g.tables[key] = table
	delete(g.partly, key)
	delete(g.verdicts, key)
}

// ServedPartly notes that a plan is being carried out. Served follows if all of it was.
func (g *Gate) ServedPartly(key lb.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.partly == nil {
		g.partly = map[lb.Key]bool{}
	}
	g.partly[key] = true
}

// Forget drops the table and the verdicts of a load balancer.
func (g *Gate) Forget(key lb.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.tables, key)
	delete(g.partly, key)
	delete(g.verdicts, key)
}
