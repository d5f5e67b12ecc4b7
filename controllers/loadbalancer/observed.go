package loadbalancer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file keeps what the cloud has, so that a steady state costs no calls.

// An observer remembers what it saw of each load balancer. What it returns is kept true by whoever
// changes the cloud, or else forgotten; once in a while it looks again.
type observer struct {
	cloud providers.Provider
	every time.Duration // how long a look is good for, give or take a tenth
	// looked is told of each look at the cloud.
	looked func(context.Context, lb.Key)

	mu    sync.Mutex
	kept  map[lb.Key]sight
	quiet map[lb.Key]time.Time // when all that was written is in what a look finds
}

// A sight is what was seen and until when to believe it.
type sight struct {
	seen  *lb.Observed
	until time.Time
	early bool                // it may not have found what was written a moment before
	told  map[lb.GroupID]bool // which target groups have got members since, or lost all of them
}

// seen is what is under a key.
func (o *observer) seen(ctx context.Context, key lb.Key) (*lb.Observed, error) {
	s := o.recall(key)
	if s.seen != nil && time.Now().Before(s.until) {
		return s.seen, o.await(ctx, s.seen)
	}
	// After a while somebody may have changed a value and left the digest beside it.
	drifted := s.seen != nil && (!s.early || len(s.seen.Unread) > 0)
	seen, err := o.cloud.Observe(ctx, key, drifted)
	if err != nil {
		return nil, fmt.Errorf("observing %s: %w", key, err)
	}
	for _, why := range seen.Unread {
		log.FromContext(ctx).Info("settings of the load balancer could not be read, and are assumed to be as they were written", "why", why)
	}
	o.mu.Lock()
	o.keep(key, seen)
	o.mu.Unlock()
	if o.looked != nil {
		o.looked(ctx, key)
	}
	return seen, nil
}

// has is what is kept of a key; nil if nothing is.
func (o *observer) has(key lb.Key) *lb.Observed {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kept[key].seen
}

// keep keeps what was seen. A look that follows a write is early: it is repeated once that can be
// found. So is the first one of this process, for the process before it may have ended right after
// a write.
func (o *observer) keep(key lb.Key, seen *lb.Observed) {
	if o.kept == nil {
		o.kept, o.quiet = map[lb.Key]sight{}, map[lb.Key]time.Time{}
	}
	now := time.Now()
	quiet, known := o.quiet[key]
	if !known {
		quiet = now.Add(providers.ReadLag)
		o.quiet[key] = quiet
	}
	if early := now.Before(quiet); early {
		soon := min(o.jittered(), providers.ReadLag+rand.N(providers.ReadLag/2)) //nolint:gosec // nothing is guarded by it
		o.kept[key] = sight{seen: seen, early: true, until: now.Add(soon)}
		return
	}
	o.kept[key] = sight{seen: seen, until: now.Add(o.goodFor(seen))}
}

// wrote notes that what is under a key was changed a moment ago.
func (o *observer) wrote(key lb.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.quiet == nil {
		o.quiet = map[lb.Key]time.Time{}
	}
	o.quiet[key] = time.Now().Add(providers.ReadLag)
}

// due is until when to believe what was seen. An early look is repeated once all that was written
// since is found, too.
func (o *observer) due(key lb.Key, s sight) time.Time {
	if quiet := o.quiet[key]; s.early && quiet.After(s.until) && o.every > providers.ReadLag {
		return quiet
	}
	return s.until
}

// again is when to look again, unless something happens before.
func (o *observer) again(key lb.Key) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s, kept := o.kept[key]; kept {
		return max(time.Second, time.Until(o.due(key, s)))
	}
	return o.jittered()
}

// recall is what was seen of a key, and told since.
func (o *observer) recall(key lb.Key) sight {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.kept[key]
	s.until = o.due(key, s)
	for id, registered := range s.told {
		if g := s.seen.TargetGroup(id); g != nil {
			g.Registered, g.Ready = registered, false // whether they are healthy is asked where it matters
		}
	}
	clear(s.told)
	return s
}

// tell notes whether a target group has members from now on. Whoever uses what was seen may be at
// work with it, so that it is changed only for who comes next.
func (o *observer) tell(key lb.Key, group lb.GroupID, registered bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s, kept := o.kept[key]
	if !kept {
		return // the next look is a fresh one
	}
	if s.told == nil {
		s.told = map[lb.GroupID]bool{}
		o.kept[key] = s
	}
	s.told[group] = registered
}

// await notes that a load balancer is active, once the cloud has finished setting it up.
func (o *observer) await(ctx context.Context, seen *lb.Observed) (err error) {
	if !seen.Exists || seen.Active {
		return nil
	}
	if seen.Active, err = o.cloud.Active(ctx, seen); err != nil {
		return fmt.Errorf("asking whether %s is active: %w", seen.Key, err)
	}
	return nil
}

// forget makes the next look a fresh one.
func (o *observer) forget(key lb.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.kept, key)
}

// How long a look is good for in which some settings could not be read, and when to come back for
// them.
const (
	unreadLife  = 50 * time.Minute
	untilReread = time.Hour
)

// goodFor is how long a look is believed.
func (o *observer) goodFor(seen *lb.Observed) time.Duration {
	if len(seen.Unread) > 0 {
		return min(unreadLife, o.jittered())
	}
	return o.jittered()
}

// rereads is when to come back for settings that could not be read; zero if there are none.
func rereads(seen *lb.Observed) time.Duration {
	if len(seen.Unread) > 0 {
		return untilReread
	}
	return 0
}

// gone forgets a load balancer that is no more.
func (o *observer) gone(key lb.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.kept, key)
	delete(o.quiet, key)
}

// jittered keeps load balancers that were first seen together from being looked at together.
func (o *observer) jittered() time.Duration {
	return time.Duration(float64(o.every) * (0.9 + 0.2*rand.Float64())) //nolint:gosec // nothing is guarded by it
}
