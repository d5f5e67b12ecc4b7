// Package waits holds what load balancers wait for, since when.
package waits

import (
	"context"
	"sync"
	"time"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

const (
	// LongWait is how long a wait takes that is reported.
	LongWait = 15 * time.Second
	// Lull is how far apart waits may be that count as one.
	Lull = 2 * time.Second
)

// Reasons returns the reasons of the condition Waiting, in the order in which they are reported.
func Reasons() []string {
	return []string{
		v1alpha1.ReasonQueued, v1alpha1.ReasonRateLimited, v1alpha1.ReasonThrottled,
		v1alpha1.ReasonTargetHealth, v1alpha1.ReasonCloud, v1alpha1.ReasonQuota,
	}
}

// Waits are the waits of all load balancers.
type Waits struct {
	mu sync.Mutex
	of map[lb.Key]map[string]*wait // by reason
}

// A wait is one of a load balancer, for one reason.
type wait struct {
	since, over time.Time
	underWay    int  // how often it has begun and is not over
	reported    bool // NewlyLong has reported it
}

// goesOn reports whether a wait is under way, or was a moment ago.
func (w *wait) goesOn(now time.Time) bool { return w.underWay > 0 || now.Sub(w.over) < Lull }

// Begin begins a wait. The function that it returns ends it.
func (w *Waits) Begin(key lb.Key, reason string) (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.find(key, reason)
	now := time.Now()
	if !one.goesOn(now) {
		one.since, one.reported = now, false
	}
	one.underWay++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		one.underWay--
		one.over = time.Now()
	}
}

// find returns the wait of a load balancer for a reason; a new one if there is none. The caller has
// the lock.
func (w *Waits) find(key lb.Key, reason string) *wait {
	if w.of == nil {
		w.of = map[lb.Key]map[string]*wait{}
	}
	if w.of[key] == nil {
		w.of[key] = map[string]*wait{}
	}
	if w.of[key][reason] == nil {
		w.of[key][reason] = &wait{}
	}
	return w.of[key][reason]
}

// Set sets since when a load balancer waits for something from one reconcile to the next. The zero
// time ends the wait.
func (w *Waits) Set(key lb.Key, reason string, since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if since.IsZero() {
		delete(w.of[key], reason)
		return
	}
	*w.find(key, reason) = wait{since: since, underWay: 1}
}

// Since returns since when a load balancer has been waiting; the zero time if it does not wait.
func (w *Waits) Since(key lb.Key, reason string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.of[key][reason]; one != nil && one.goesOn(time.Now()) {
		return one.since
	}
	return time.Time{}
}

// UnderWay reports whether a wait has begun and is not over.
func (w *Waits) UnderWay(key lb.Key, reason string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.of[key][reason]
	return one != nil && one.underWay > 0
}

// NewlyLong reports whether calls for a load balancer have waited for long for the cloud's rate. It
// reports each wait once.
func (w *Waits) NewlyLong(key lb.Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.of[key][v1alpha1.ReasonRateLimited]
	now := time.Now()
	if one == nil || one.reported || !one.goesOn(now) || now.Sub(one.since) < LongWait {
		return false
	}
	one.reported = true
	return true
}

// Forget forgets the waits of a load balancer.
func (w *Waits) Forget(key lb.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, key)
}

// Longest returns, by reason, how many load balancers wait, and for how long the one has that has
// waited longest.
func (w *Waits) Longest() (count map[string]int, longest map[string]time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	count, longest = map[string]int{}, map[string]time.Duration{}
	for _, of := range w.of {
		for reason, one := range of {
			if one.goesOn(now) {
				count[reason]++
				longest[reason] = max(longest[reason], now.Sub(one.since))
			}
		}
	}
	return count, longest
}

// OfCalls returns a context whose calls of the cloud count as waits of a load balancer while they
// wait for their turn. The reconcile that makes them gives its slot away meanwhile.
func (w *Waits) OfCalls(ctx context.Context, key lb.Key) context.Context {
	slot, _ := ctx.Value(queue.WorkKey{}).(*queue.Work)
	return providers.WithAsker(ctx, providers.Asker{Key: key, Waits: func() func() {
		end := w.Begin(key, v1alpha1.ReasonRateLimited)
		slot.Slower(1)
		return func() {
			slot.Slower(-1)
			end()
		}
	}})
}
