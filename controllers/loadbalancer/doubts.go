package loadbalancer

import (
	"slices"
	"sync"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file holds plans that a second reading has to confirm.

// doubts holds the deletions of plans that delete much although no Ingress changed: an incomplete
// read leads to such a plan. They are carried out after a second reading leads to the same ones.
type doubts struct {
	mu    sync.Mutex
	plans map[lb.Key][]plan.Printed
}

// confirm stores the deletions of a plan, and reports whether they equal the stored ones.
func (d *doubts) confirm(p plan.Plan) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	certain := plan.WithoutDeletions(p).Print()
	printed := slices.DeleteFunc(p.Print(), func(s plan.Printed) bool {
		return slices.Contains(certain, s)
	})
	if before, doubted := d.plans[p.Key]; doubted && slices.Equal(before, printed) {
		delete(d.plans, p.Key)
		return true
	}
	if d.plans == nil {
		d.plans = map[lb.Key][]plan.Printed{}
	}
	d.plans[p.Key] = printed
	return false
}

// isUnconfirmed reports whether the last plan of a load balancer waits to be confirmed.
func (d *doubts) isUnconfirmed(key lb.Key) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, found := d.plans[key]
	return found
}

// forget drops the plan of a load balancer.
func (d *doubts) forget(key lb.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.plans, key)
}
