package expectations

import (
	"slices"
	"sync"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/ingress/members"
	"fairlead.dev/fairlead/model/ingress/snapshots"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file finds the routes that are served now, for comparison with a plan.

// A Change is a load balancer with the plan that is to change it.
type Change struct {
	Snapshot snapshots.Snapshot
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
type Gate struct {
	mu     sync.Mutex
	tables map[lb.Key]*precedence.Table
}

// Judge decides whether a plan may be carried out.
func (g *Gate) Judge(set *Set, c Change) Judgement {
	if set == nil {
		g.Forget(c.Snapshot.Key)
		return Judgement{}
	}
	return Judge(*set, g.servedTable(c), c.Next)
}

// StandingAlone returns the Ingresses that violate the expectations even where all Ingresses and
// the class are as they were last accepted: something that they refer to has changed.
func (g *Gate) StandingAlone(set *Set, c Change) map[string]bool {
	out, now := map[string]bool{}, g.servedTable(c)
	if set == nil || now == nil {
		return out // they may have violated them before
	}
	next := model.Compile(c.lastAccepted(), c.Facts, c.Capabilities).Table
	for _, o := range Judge(*set, now, next).Offences {
		out[o.Next] = true
	}
	return out
}

// Knows reports whether it is known what is served now.
func (g *Gate) Knows(c Change) bool { return g.servedTable(c) != nil }

// servedTable returns the table that is served now; nil if it is unknown, so that every violation
// counts as new.
func (g *Gate) servedTable(c Change) *precedence.Table {
	g.mu.Lock()
	known := g.tables[c.Snapshot.Key]
	g.mu.Unlock()
	switch {
	case !c.Observed.Exists:
		return nil
	case c.Plan.Empty():
		return c.Next
	case known != nil:
		return known
	}
	last := c.lastAccepted()
	built := model.Compile(last, c.Facts, c.Capabilities)
	differ, certain := differing(planner.Diff(c.Observed, built.LoadBalancer, c.Capabilities))
	switch {
	case !certain:
		return nil
	case len(differ) == 0:
		return built.Table
	}
	// Of these namespaces, something else is served than was last accepted. All that they violate
	// counts as new.
	last = last.Without(slices.DeleteFunc(slices.Clone(last.Members), func(m members.Member) bool {
		return !slices.Contains(differ, m.Namespace)
	}))
	return model.Compile(last, c.Facts, c.Capabilities).Table
}

// lastAccepted returns the snapshot of the last plan: the last accepted versions of Ingresses,
// those that have departed since, and the class of that time.
func (c Change) lastAccepted() snapshots.Snapshot {
	s := c.Snapshot
	if s.Memory.Class != nil {
		s.Class.LoadBalancerClassSpec = *s.Memory.Class
	}
	return s.AsAccepted(func(string) bool { return true }, c.Departed)
}

// differing returns the namespaces whose answers a plan may change. Certain is false if it may
// change those of all, or which clients can connect. Rules of no namespace answer 404.
func differing(p plan.Plan) (namespaces []string, certain bool) {
	for _, s := range p.Steps {
		switch s.Step.(type) {
		case plan.CreateTargetGroup, plan.ModifyTargetGroup, plan.RegisterTargets,
			plan.AwaitTargets, plan.DeleteTargetGroup, plan.ImportCertificate,
			plan.ModifyCertificate, plan.DeleteCertificate, plan.DeleteFirewall, plan.RespaceRules:
		case plan.CreateRule, plan.ModifyRule, plan.DeleteRule:
			namespaces = append(namespaces, s.Namespaces()...)
		default:
			return nil, false
		}
	}
	return namespaces, true
}

// Served remembers the table of a plan that was carried out.
func (g *Gate) Served(key lb.Key, table *precedence.Table) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tables == nil {
		g.tables = map[lb.Key]*precedence.Table{}
	}
	g.tables[key] = table
}

// Forget drops the table of a load balancer.
func (g *Gate) Forget(key lb.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.tables, key)
}
