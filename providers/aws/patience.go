package aws

import (
	"sync"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file is what Fairlead knows would be asked in vain: AWS says for a while that what was let go of
// is in use, and targets take their time to become healthy. Who asks again too early is told so without
// a call.

// A waiting room knows until when it is of no use to ask.
type waitingRoom struct {
	mu    sync.Mutex
	until map[string]wait
}

// A wait ends; the next one is longer.
type wait struct {
	end  time.Time
	next time.Duration
}

// The first wait for the health of targets and for a load balancer that is being set up, and the longest.
const (
	activeWait    = 5 * time.Second
	activeWaitMax = 45 * time.Second
	healthWait    = 5 * time.Second
	healthWaitMax = 30 * time.Second
)

// early reports whether it is too early to ask about something.
func (r *waitingRoom) early(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Before(r.until[id].end)
}

// wait keeps askers away for a while.
func (r *waitingRoom) wait(id string, first, longest time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil {
		r.until = map[string]wait{}
	}
	this := max(first, r.until[id].next)
	r.until[id] = wait{time.Now().Add(this), min(longest, this*3/2)}
}

// forget lets askers in at once.
func (r *waitingRoom) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.until, id)
}

// letGo notes, after a step, which target groups and certificates it stopped using somewhere: they can be
// deleted once AWS has got over it. Other steps may be stopping to use them at the same time.
func (p *Provider) letGo(seen *lb.Observed, step plan.Step) {
	after := seen.Clone()
	step.Do(after, plan.Result{})
	still := uses(after)
	for id, n := range uses(seen) {
		if still[id] < n {
			p.released.forget(id)
			p.released.wait(id, p.settle, p.settle)
		}
	}
}

// uses counts how often listeners and rules name each target group and certificate, by handle.
func uses(o *lb.Observed) map[string]int {
	out := map[string]int{}
	if o.Exists && o.Firewall != "" {
		out[o.Firewall]++
	}
	name := func(a lb.Action) {
		for _, id := range a.Groups() {
			if g := o.TargetGroup(id); g != nil {
				out[g.Handle]++
			}
		}
	}
	for _, l := range o.Listeners {
		name(l.Default)
		for _, r := range l.Rules {
			name(r.Action)
		}
		for _, id := range l.Certificates {
			if c := o.Certificate(id); c != nil {
				out[c.Handle]++
			}
		}
	}
	return out
}
