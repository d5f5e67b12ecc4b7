package controllers

import (
	"slices"
	"sync"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file doubts plans that delete more than anybody asked for: a read that came back short looks
// just like a wish.

// doubts are plans that wait for a second reading that leads to the same.
type doubts struct {
	mu    sync.Mutex
	plans map[lb.Key][]plan.Printed
}

// believe is the plan, or an empty one where there is nothing to do, or no reason yet to believe
// that it is wished for.
func (r *reconciler) believe(g *gathering, seen *lb.Observed, p plan.Plan) (todo plan.Plan, doubted bool) {
	switch {
	case retained(g):
		return plan.Plan{Key: p.Key}, false
	case plan.Suspicious(p, seen) && !g.changed() && !r.doubts.confirm(p):
		return plan.Plan{Key: p.Key}, true
	}
	return p, false
}

// retained reports whether a load balancer that nobody asks for any more is to stay as it is.
func retained(g *gathering) bool {
	class := g.Memory.Class
	return len(g.Members) == 0 && class != nil && class.DeletionPolicy == v1alpha1.DeletionPolicyRetain
}

// changed reports whether an Ingress came, went or asks for something else since the last plan.
func (g *gathering) changed() bool {
	return len(g.departed) > 0 || len(g.Changes()) > 0
}

// confirm notes a plan and reports whether it is the one that was noted before.
func (d *doubts) confirm(p plan.Plan) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	printed := p.Print()
	if slices.Equal(d.plans[p.Key], printed) {
		delete(d.plans, p.Key)
		return true
	}
	if d.plans == nil {
		d.plans = map[lb.Key][]plan.Printed{}
	}
	d.plans[p.Key] = printed
	return false
}
