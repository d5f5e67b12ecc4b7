package loadbalancer

import (
	"slices"
	"sync"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file holds plans that a second reading has to confirm.

// doubts holds plans that delete much although no Ingress changed: a read that came back short
// leads to such a plan. They are carried out once a second reading leads to the same plan.
type doubts struct {
	mu    sync.Mutex
	plans map[lb.Key][]plan.Printed
}

// confirm stores a plan, and reports whether it is the one that was stored before.
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

// about reports whether the last plan of a load balancer waits to be confirmed.
func (d *doubts) about(key lb.Key) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.plans[key] != nil
}

// forget drops the plan of a load balancer.
func (d *doubts) forget(key lb.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.plans, key)
}
