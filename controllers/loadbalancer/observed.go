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

// This file keeps observations of the cloud, so that a steady state costs no calls.

// An observer keeps the last observation of each load balancer. The steps of plans change the
// observation as they change the cloud. It is dropped after a failed step, and renewed when it
// expires.
type observer struct {
	cloud providers.Provider
	every time.Duration // how long an observation is valid, give or take a tenth
	// looked is called after each observation of the cloud.
	looked func(context.Context, lb.Key)

	mu    sync.Mutex
	kept  map[lb.Key]sight
	quiet map[lb.Key]time.Time // when an observation finds all writes
}

// A sight is an observation with the time of its expiry.
type sight struct {
	seen  *lb.Observed
	until time.Time
	early bool                // it may lack recent writes
	told  map[lb.GroupID]bool // whether groups have got targets since, or lost all of them
}

// observe returns the valid observation of a load balancer, or makes a new one.
func (o *observer) observe(ctx context.Context, key lb.Key) (*lb.Observed, error) {
	s := o.recall(key)
	if s.seen != nil && time.Now().Before(s.until) {
		return s.seen, o.await(ctx, s.seen)
	}
	// Another writer may have changed a value since, and not the digest in the tag.
	drifted := s.seen != nil && (!s.early || len(s.seen.Unread) > 0)
	seen, err := o.cloud.Observe(ctx, key, drifted)
	if err != nil {
		return nil, fmt.Errorf("observing %s: %w", key, err)
	}
	for _, why := range seen.Unread {
		log.FromContext(ctx).Info("settings of the load balancer could not be read, and are assumed to "+
			"be unchanged", "why", why)
	}
	o.mu.Lock()
	o.keep(key, seen)
	o.mu.Unlock()
	if o.looked != nil {
		o.looked(ctx, key)
	}
	return seen, nil
}

// lastObserved returns the kept observation of a load balancer; nil if there is none.
func (o *observer) lastObserved(key lb.Key) *lb.Observed {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kept[key].seen
}

// keep keeps an observation. An early one is repeated when all writes can be found. The first one
// of this process is early: the last process may have ended right after a write.
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
	o.kept[key] = sight{seen: seen, until: now.Add(o.validFor(seen))}
}

// noteWrite records that the load balancer was just changed.
func (o *observer) noteWrite(key lb.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.quiet == nil {
		o.quiet = map[lb.Key]time.Time{}
	}
	o.quiet[key] = time.Now().Add(providers.ReadLag)
}

// due returns when an observation expires: an early one as soon as all writes can be found.
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

// recall returns the kept observation of a load balancer, with later changes of its targets.
func (o *observer) recall(key lb.Key) sight {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.kept[key]
	s.until = o.due(key, s)
	for id, registered := range s.told {
		if g := s.seen.TargetGroup(id); g != nil {
			g.Registered, g.Ready = registered, false // their health is read where it matters
		}
	}
	clear(s.told)
	return s
}

// noteTargets records whether a target group has targets now. The observation may be in use, so
// recall changes it.
func (o *observer) noteTargets(key lb.Key, group lb.GroupID, registered bool) {
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

// await asks whether a load balancer has become active.
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

// These are how long an observation with unread settings is valid, and when the settings are read
// again.
const (
	unreadLife  = 50 * time.Minute
	untilReread = time.Hour
)

// validFor returns how long an observation is valid.
func (o *observer) validFor(seen *lb.Observed) time.Duration {
	if len(seen.Unread) > 0 {
		return min(unreadLife, o.jittered())
	}
	return o.jittered()
}

// rereads returns how long to wait before unread settings are read again; zero if there are none.
func rereads(seen *lb.Observed) time.Duration {
	if len(seen.Unread) > 0 {
		return untilReread
	}
	return 0
}

// drop drops a deleted load balancer.
func (o *observer) drop(key lb.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.kept, key)
	delete(o.quiet, key)
}

// jittered returns the validity of an observation. It differs by up to a tenth, so that not all
// load balancers are observed at the same time.
func (o *observer) jittered() time.Duration {
	//nolint:gosec // nothing is guarded by it
	return time.Duration(float64(o.every) * (0.9 + 0.2*rand.Float64()))
}
