package loadbalancer

import (
	"maps"
	"sync"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file counts the target groups that plans wait for, which stand in no record.

// awaited holds how many target groups have to be healthy before a plan goes on.
type awaited struct {
	mu sync.Mutex
	of map[lb.Key]int
}

// set records the steps of a plan that wait.
func (a *awaited) set(key lb.Key, pending []plan.Step) {
	n := 0
	for _, s := range pending {
		if _, waits := s.(plan.AwaitTargets); waits {
			n++
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[lb.Key]int{}
	}
	if a.of[key] = n; n == 0 {
		delete(a.of, key)
	}
}

// AwaitedGroups returns for how many target groups each load balancer waits.
func (r *Reconciler) AwaitedGroups() map[lb.Key]int {
	r.awaited.mu.Lock()
	defer r.awaited.mu.Unlock()
	return maps.Clone(r.awaited.of)
}
