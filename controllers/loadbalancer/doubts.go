package loadbalancer

import (
	"slices"
	"sync"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file remembers plans that are to be made twice before they are believed.

// doubts are plans that delete more than anybody asked for: a read that came back short looks just
// like a wish. They wait for a second reading that leads to the same.
type doubts struct {
	mu    sync.Mutex
	plans map[lb.Key][]plan.Printed
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

// about reports whether the last plan of a load balancer is in doubt.
func (d *doubts) about(key lb.Key) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.plans[key] != nil
}

// forget ends a doubt: the second reading led to something else, or the load balancer is no more.
func (d *doubts) forget(key lb.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.plans, key)
}
