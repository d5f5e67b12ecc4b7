package targets

import (
	"context"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/event"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file holds the existing target groups, and their targets.

// terms has the settings that all groups of a load balancer share. It is never written to.
type terms struct {
	class v1alpha1.LoadBalancerClassSpec
	caps  lb.Capabilities
}

// A tracked group is one that exists in the cloud.
type tracked struct {
	*terms
	backend routing.Backend
	// members are the last targets that were set; known is set if they are known.
	members []lb.Target
	known   bool
	// doubted is set if another writer may have changed the targets.
	doubted bool
	set     time.Time
	// leftOut names the endpoints that are left out of the targets, with the reason.
	leftOut string
	// waiting is when the first change that can wait was found.
	waiting time.Time
	// own are the targets that may have been registered for a binding; nil before they are known. Those of
	// givenUp are about to be removed. shared is set if others register targets in the group, too.
	own, givenUp []lb.Target
	shared       bool
	// going is set if the group of a binding is to lose its targets.
	going bool
	// failed is the error of the last reconcile; nil if there was none.
	failed error
	// crowded is set if there are more targets than the cloud takes, or targets on more ports than the
	// namespace may have.
	crowded bool
}

// A wanted group is a target group that a load balancer is going to have.
type wanted struct {
	service    cluster.Ref
	onNodes    bool   // its targets are Nodes
	nodeLabels string // of these
}

// An expectation has the groups that the last compilation of a load balancer leads to.
type expectation struct {
	from   []cluster.Ref // the compiled objects
	groups map[lb.GroupID]wanted
	// checked are the ports of its health checks, by namespace.
	checked map[string]map[int32]bool
}

// A Book holds the target groups of all load balancers, as the last plans left them.
type Book struct {
	mu     sync.Mutex
	groups map[lb.Key]map[lb.GroupID]*tracked
	// tallies count the targets of each load balancer.
	tallies   map[lb.Key]*tally
	byService cluster.Multimap[cluster.Ref, lb.GroupKey] // by Service
	wanted    map[lb.Key]expectation
	decided   map[string]bool // bindings of which it is known whether they are served, by namespace/name
	wake      chan event.TypedGenericEvent[lb.GroupKey]
	ended     <-chan struct{} // closed when the operator ends, and wake has no reader any more
	// instances is closed once a group has Nodes for targets.
	instances chan struct{}
	needed    sync.Once
}

// NewBook returns a book without target groups. ended is closed when the operator ends.
func NewBook(ended <-chan struct{}) *Book {
	return &Book{
		ended:     ended,
		groups:    map[lb.Key]map[lb.GroupID]*tracked{},
		tallies:   map[lb.Key]*tally{},
		byService: cluster.Multimap[cluster.Ref, lb.GroupKey]{},
		wanted:    map[lb.Key]expectation{},
		decided:   map[string]bool{},
		wake:      make(chan event.TypedGenericEvent[lb.GroupKey], 1024),
		instances: make(chan struct{}),
	}
}

// Track sets the target groups of a load balancer. Groups that are new, or whose class allows other
// targets than before, are reconciled at once. The class is a copy: a pointer into the snapshot of
// a reconcile would keep all of the snapshot.
func (b *Book) Track(ctx context.Context, key lb.Key, class v1alpha1.LoadBalancerClassSpec,
	caps lb.Capabilities, groups []lb.ObservedTargetGroup) {
	b.awaken(ctx, b.track(key, class, caps, groups)...)
}

// track does the same, and returns the groups that are to be reconciled.
func (b *Book) track(key lb.Key, class v1alpha1.LoadBalancerClassSpec, caps lb.Capabilities,
	groups []lb.ObservedTargetGroup) []lb.GroupKey {
	b.mu.Lock()
	defer b.mu.Unlock()
	var fresh []lb.GroupKey
	there := map[lb.GroupID]bool{}
	shared := &terms{class, caps}
	for _, g := range groups {
		there[g.ID] = true
		k := lb.GroupKey{Key: key, ID: g.ID}
		t := b.group(k)
		switch {
		case t == nil:
			t = &tracked{terms: shared}
			if b.groups[key] == nil {
				b.groups[key] = map[lb.GroupID]*tracked{}
			}
			b.groups[key][g.ID] = t
			fresh = append(fresh, k)
		case !endpoints.SameTargets(&t.class, &class):
			fresh = append(fresh, k)
		}
		labels := b.wanted[key].groups[g.ID].nodeLabels
		if labels == "" { // of a group that is leaving
			labels = t.backend.NodeLabels
		}
		if labels != t.backend.NodeLabels && !slices.Contains(fresh, k) {
			fresh = append(fresh, k)
		}
		b.update(key, t, func(t *tracked) {
			t.terms = shared
			t.backend = routing.Backend{
				ID: g.ID, Service: g.Service, Port: g.Port, TargetType: g.TargetType, Family: g.Family,
				NodeLabels: labels,
			}
		})
		b.byService.Add(cluster.RefFrom(cluster.KindService, g.Service), k)
		if g.TargetType == v1alpha1.TargetTypeInstance {
			b.needed.Do(func() { close(b.instances) })
		}
	}
	for id, t := range b.groups[key] {
		if !there[id] {
			b.update(key, t, func(t *tracked) { t.members = nil })
			delete(b.groups[key], id)
			b.byService.Remove(cluster.RefFrom(cluster.KindService, t.backend.Service),
				lb.GroupKey{Key: key, ID: id})
		}
	}
	if len(b.groups[key]) == 0 {
		delete(b.groups, key)
		delete(b.tallies, key)
	}
	return fresh
}

// awaken enqueues target groups.
func (b *Book) awaken(ctx context.Context, groups ...lb.GroupKey) {
	for _, k := range groups {
		select {
		case b.wake <- event.TypedGenericEvent[lb.GroupKey]{Object: k}:
		case <-ctx.Done(): // the operator is ending
			return
		case <-b.ended:
			return
		}
	}
}

// Recheck enqueues the groups of a load balancer for a comparison with the cloud, after a new
// observation.
func (b *Book) Recheck(ctx context.Context, key lb.Key) {
	b.mu.Lock()
	var doubted []lb.GroupKey
	for id, t := range b.groups[key] {
		if t.known {
			t.known, t.doubted = false, time.Since(t.set) > providers.ReadLag
			doubted = append(doubted, lb.GroupKey{Key: key, ID: id})
		}
	}
	b.mu.Unlock()
	b.awaken(ctx, doubted...)
}

// RecheckOne enqueues one group for a comparison with the cloud.
func (b *Book) RecheckOne(ctx context.Context, k lb.GroupKey) {
	b.change(k, func(t *tracked) { t.known = false })
	b.awaken(ctx, k)
}

// Expect sets the target groups that a load balancer is going to have, before they exist.
func (b *Book) Expect(key lb.Key, from []cluster.Ref, groups []lb.TargetGroup) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := expectation{from, map[lb.GroupID]wanted{}, checkedPorts(groups)}
	for _, g := range groups {
		next.groups[g.ID] = wanted{
			cluster.RefFrom(cluster.KindService, g.Service), g.TargetType == v1alpha1.TargetTypeInstance,
			g.NodeLabels,
		}
	}
	b.wanted[key] = next
}

// Forget drops a deleted load balancer.
func (b *Book) Forget(key lb.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.wanted, key)
}

// Compiled reports whether a load balancer was compiled with a Service, so that its groups of the
// Service are known.
func (b *Book) Compiled(key lb.Key, service cluster.Ref) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.wanted[key].from, service)
}

// Expected returns the groups of a Service's Pods that a load balancer is going to have.
func (b *Book) Expected(key lb.Key, service cluster.Ref) []lb.GroupID {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []lb.GroupID
	for id, g := range b.wanted[key].groups {
		if !g.onNodes && g.service == service {
			out = append(out, id)
		}
	}
	return out
}

// isLeaving reports whether a group exists that its load balancer is not going to have.
func (b *Book) isLeaving(k lb.GroupKey) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	next, known := b.wanted[k.Key]
	_, wanted := next.groups[k.ID]
	return known && !wanted
}

// groupsOf returns the target groups of a Service.
func (b *Book) groupsOf(service cluster.Ref) []lb.GroupKey {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(b.byService.All(service))
}

// onInstances returns the target groups that have Nodes for targets.
func (b *Book) onInstances() []lb.GroupKey {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []lb.GroupKey
	for key, groups := range b.groups {
		for id, t := range groups {
			if t.backend.TargetType == v1alpha1.TargetTypeInstance {
				out = append(out, lb.GroupKey{Key: key, ID: id})
			}
		}
	}
	return out
}

// groupCopy returns a copy of a group.
func (b *Book) groupCopy(k lb.GroupKey) (tracked, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.group(k)
	if t == nil {
		return tracked{}, false
	}
	return *t, true
}

// group returns a group; nil if it does not exist. The caller has the lock.
func (b *Book) group(k lb.GroupKey) *tracked { return b.groups[k.Key][k.ID] }

// TargetsOf returns the known targets of a group, and reports whether the group exists.
func (b *Book) TargetsOf(k lb.GroupKey) (targets []lb.Target, exists bool) {
	t, exists := b.groupCopy(k)
	return t.members, exists
}

// change changes a group.
func (b *Book) change(k lb.GroupKey, change func(*tracked)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.group(k); t != nil {
		b.update(k.Key, t, change)
	}
}
