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

// An observer keeps the last observation of each load balancer. The steps of plans change that
// observation as they change the cloud. It is dropped where a step failed, and made anew after a
// while.
type observer struct {
	cloud providers.Provider
	every time.Duration // for how long an observation is believed, give or take a tenth
	// looked is called after each observation of the cloud.
	looked func(context.Context, lb.Key)

	mu    sync.Mutex
	kept  map[lb.Key]sight
	quiet map[lb.Key]time.Time // when an observation finds everything that was written
}

// A sight is an observation, and until when it is believed.
type sight struct {
	seen  *lb.Observed
	until time.Time
	early bool                // it may lack writes from a moment before
	told  map[lb.GroupID]bool // which target groups have got targets since, or lost all of them
}

// seen returns what the cloud has under a key, as it was observed before or by a new observation.
func (o *observer) seen(ctx context.Context, key lb.Key) (*lb.Observed, error) {
	s := o.recall(key)
	if s.seen != nil && time.Now().Before(s.until) {
		return s.seen, o.await(ctx, s.seen)
	}
	// After a while another writer may have changed a value and left the digest in the tag as it was.
	drifted := s.seen != nil && (!s.early || len(s.seen.Unread) > 0)
	seen, err := o.cloud.Observe(ctx, key, drifted)
	if err != nil {
		return nil, fmt.Errorf("observing %s: %w", key, err)
	}
	for _, why := range seen.Unread {
		log.FromContext(ctx).Info("settings of the load balancer could not be read, and are assumed to "+
			"be as they were written", "why", why)
	}
	o.mu.Lock()
	o.keep(key, seen)
	o.mu.Unlock()
	if o.looked != nil {
		o.looked(ctx, key)
	}
	return seen, nil
}

// has returns the observation that is kept of a key; nil if there is none.
func (o *observer) has(key lb.Key) *lb.Observed {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kept[key].seen
}

// keep keeps an observation. An early one is repeated once all writes can be found. The first one
// of this process is early: the process before it may have ended right after a write.
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
		//nolint:gosec // nothing is guarded by it
		soon := min(o.jittered(), providers.ReadLag+rand.N(providers.ReadLag/2))
		o.kept[key] = sight{seen: seen, early: true, until: now.Add(soon)}
		return
	}
	o.kept[key] = sight{seen: seen, until: now.Add(o.goodFor(seen))}
}

// wrote records that the load balancer was changed a moment ago.
func (o *observer) wrote(key lb.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.quiet == nil {
		o.quiet = map[lb.Key]time.Time{}
	}
	o.quiet[key] = time.Now().Add(providers.ReadLag)
}

// due returns until when an observation is believed. An early one is repeated once everything is
// found that was written since.
func (o *observer) due(key lb.Key, s sight) time.Time {
	if quiet := o.quiet[key]; s.early && quiet.After(s.until) && o.every > providers.ReadLag {
		return quiet
	}
	return s.until
}

// again returns when to observe a load balancer again.
func (o *observer) again(key lb.Key) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s, kept := o.kept[key]; kept {
		return max(time.Second, time.Until(o.due(key, s)))
	}
	return o.jittered()
}

// recall returns the observation that is kept of a key, with the changes of its targets since.
func (o *observer) recall(key lb.Key) sight {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.kept[key]
	s.until = o.due(key, s)
	for id, registered := range s.told {
		if g := s.seen.TargetGroup(id); g != nil {
			g.Registered, g.Ready = registered, false // their health is asked for where it matters
		}
	}
	clear(s.told)
	return s
}

// tell records whether a target group has targets from now on. The observation may be in use, so
// recall changes it.
func (o *observer) tell(key lb.Key, group lb.GroupID, registered bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s, kept := o.kept[key]
	if !kept {
		return // the next observation is a new one
	}
	if s.told == nil {
		s.told = map[lb.GroupID]bool{}
		o.kept[key] = s
	}
	s.told[group] = registered
}

// await asks whether a load balancer is active that was not yet.
func (o *observer) await(ctx context.Context, seen *lb.Observed) (err error) {
	if !seen.Exists || seen.Active {
		return nil
	}
	if seen.Active, err = o.cloud.Active(ctx, seen); err != nil {
		return fmt.Errorf("asking whether %s is active: %w", seen.Key, err)
	}
	return nil
}

// forget makes the next observation a new one.
func (o *observer) forget(key lb.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.kept, key)
}

// For how long an observation is believed of which some settings could not be read, and when they
// are read again.
const (
	unreadLife  = 50 * time.Minute
	untilReread = time.Hour
)

// goodFor returns for how long an observation is believed.
func (o *observer) goodFor(seen *lb.Observed) time.Duration {
	if len(seen.Unread) > 0 {
		return min(unreadLife, o.jittered())
	}
	return o.jittered()
}

// rereads returns when to read settings again that could not be read; zero if there are none.
func rereads(seen *lb.Observed) time.Duration {
	if len(seen.Unread) > 0 {
		return untilReread
	}
	return 0
}

// gone forgets a load balancer that does not exist any more.
func (o *observer) gone(key lb.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.kept, key)
	delete(o.quiet, key)
}

// jittered spreads the observations of load balancers that were first observed together.
func (o *observer) jittered() time.Duration {
	//nolint:gosec // nothing is guarded by it
	return time.Duration(float64(o.every) * (0.9 + 0.2*rand.Float64()))
}
