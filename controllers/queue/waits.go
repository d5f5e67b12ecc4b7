package queue

import (
	"context"
	"sync"
	"time"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

const (
	// LongWait is the duration from which a wait is reported.
	LongWait = 15 * time.Second
	// Lull is the longest time between two waits that count as one.
	Lull = 2 * time.Second
)

// Reasons returns the reasons of the condition Waiting, in the order in which they are reported.
func Reasons() []string {
	return []string{
		v1alpha1.ReasonQueued, v1alpha1.ReasonRateLimited, v1alpha1.ReasonThrottled,
		v1alpha1.ReasonTargetHealth, v1alpha1.ReasonCloud, v1alpha1.ReasonQuota,
	}
}

// Waits holds the waits of all load balancers.
type Waits struct {
	mu    sync.Mutex
	byKey map[lb.Key]map[string]*wait // by reason
}

// A wait is the wait of a load balancer for one reason.
type wait struct {
	since, over time.Time
	underWay    int  // the number of its parts that are not over
	reported    bool // NewlyLong has reported it
}

// isUnderWay reports whether a wait is under way, or has just ended.
func (w *wait) isUnderWay(now time.Time) bool { return w.underWay > 0 || now.Sub(w.over) < Lull }

// Begin begins a wait. The function that it returns ends it.
func (w *Waits) Begin(key lb.Key, reason string) (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.find(key, reason)
	now := time.Now()
	if !one.isUnderWay(now) {
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
	if w.byKey == nil {
		w.byKey = map[lb.Key]map[string]*wait{}
	}
	if w.byKey[key] == nil {
		w.byKey[key] = map[string]*wait{}
	}
	if w.byKey[key][reason] == nil {
		w.byKey[key][reason] = &wait{}
	}
	return w.byKey[key][reason]
}

// Set sets the begin of a wait between two reconciles of a load balancer. The zero time ends the
// wait.
func (w *Waits) Set(key lb.Key, reason string, since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if since.IsZero() {
		delete(w.byKey[key], reason)
		return
	}
	*w.find(key, reason) = wait{since: since, underWay: 1}
}

// Since returns when a load balancer began to wait; the zero time if it does not wait.
func (w *Waits) Since(key lb.Key, reason string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.byKey[key][reason]; one != nil && one.isUnderWay(time.Now()) {
		return one.since
	}
	return time.Time{}
}

// UnderWay reports whether a wait has begun and is not over.
func (w *Waits) UnderWay(key lb.Key, reason string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.byKey[key][reason]
	return one != nil && one.underWay > 0
}

// NewlyLong reports whether calls for a load balancer have waited long for the cloud's rate. It
// reports each wait once.
func (w *Waits) NewlyLong(key lb.Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.byKey[key][v1alpha1.ReasonRateLimited]
	now := time.Now()
	if one == nil || one.reported || !one.isUnderWay(now) || now.Sub(one.since) < LongWait {
		return false
	}
	one.reported = true
	return true
}

// Forget forgets the waits of a load balancer.
func (w *Waits) Forget(key lb.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byKey, key)
}

// Longest returns by reason the number of waiting load balancers, and their longest wait.
func (w *Waits) Longest() (count map[string]int, longest map[string]time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	count, longest = map[string]int{}, map[string]time.Duration{}
	for _, of := range w.byKey {
		for reason, one := range of {
			if one.isUnderWay(now) {
				count[reason]++
				longest[reason] = max(longest[reason], now.Sub(one.since))
			}
		}
	}
	return count, longest
}

// WithCalls returns a context whose calls of the cloud count as waits of a load balancer until
// their turn. Meanwhile the reconcile frees its slot.
func (w *Waits) WithCalls(ctx context.Context, key lb.Key) context.Context {
	slot, _ := ctx.Value(workKey{}).(*work)
	return providers.WithAsker(ctx, providers.Asker{Key: key, Waits: func() func() {
		end := w.Begin(key, v1alpha1.ReasonRateLimited)
		slot.AddSlow(1)
		return func() {
			slot.AddSlow(-1)
			end()
		}
	}})
}
