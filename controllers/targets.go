package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/multimap"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/waits"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"

	"fairlead.dev/fairlead/controllers/disputes"
)

// This file keeps the members of target groups, in a loop of its own: pods come and go without any
// load balancer being reconciled, and go on doing so while a configuration is broken.

// A tracked group is one that exists in the cloud.
type tracked struct {
	class   *ingress.Class
	caps    lb.Capabilities
	backend routing.Backend
	// members are those that were last set; known says whether that is known at all.
	members []lb.Target
	known   bool
	// doubted says that others may have changed them, and set when they were set last.
	doubted bool
	set     time.Time
	// left is what is left out of the targets, and why.
	left string
	// waiting is since when there has been a change that can wait.
	waiting time.Time
	// crowded says that there are more than the cloud takes, or on more ports than the namespace may
	// have.
	crowded bool
}

// An expectation is what a load balancer is going to have, by when it was compiled last.
type expectation struct {
	from   []cluster.Ref // the objects that it was compiled from
	groups map[lb.GroupID]lb.TargetGroup
}

// A targetBook is the target groups that exist, as the plans that made them left them.
type targetBook struct {
	mu     sync.Mutex
	groups map[lb.GroupKey]*tracked
	by     map[cluster.Ref]map[lb.GroupKey]bool // Service
	wanted map[lb.Key]expectation
	wake   chan event.TypedGenericEvent[lb.GroupKey]
	ended  <-chan struct{} // closed when the operator is to end, and nothing reads wake any more
	// instances is closed once a group has had Nodes for targets.
	instances chan struct{}
	needed    sync.Once
}

func newTargetBook() *targetBook {
	return &targetBook{
		groups: map[lb.GroupKey]*tracked{}, by: map[cluster.Ref]map[lb.GroupKey]bool{}, wanted: map[lb.Key]expectation{},
		wake:      make(chan event.TypedGenericEvent[lb.GroupKey], 1024),
		instances: make(chan struct{}),
	}
}

// track notes the target groups of a load balancer. Those that are new, or whose class allows other
// targets than before, are looked after at once.
func (b *targetBook) track(ctx context.Context, key lb.Key, class *ingress.Class, caps lb.Capabilities, groups []lb.ObservedTargetGroup) {
	b.mu.Lock()
	var fresh []lb.GroupKey
	there := map[lb.GroupID]bool{}
	for _, g := range groups {
		there[g.ID] = true
		k := lb.GroupKey{Key: key, ID: g.ID}
		if b.groups[k] == nil {
			b.groups[k] = &tracked{}
			fresh = append(fresh, k)
		}
		if was := b.groups[k].class; was != nil && !endpoints.SameTargets(&was.LoadBalancerClassSpec, &class.LoadBalancerClassSpec) {
			fresh = append(fresh, k)
		}
		b.groups[k].class, b.groups[k].caps = class, caps
		b.groups[k].backend = routing.Backend{ID: g.ID, Service: g.Service, Port: g.Port, TargetType: g.TargetType, Family: g.Family}
		multimap.Add(b.by, cluster.RefFrom(cluster.KindService, g.Service), k)
		if g.TargetType == v1alpha1.TargetTypeInstance {
			b.needed.Do(func() { close(b.instances) })
		}
	}
	for k, t := range b.groups {
		if k.Key == key && !there[k.ID] {
			delete(b.groups, k)
			multimap.Remove(b.by, cluster.RefFrom(cluster.KindService, t.backend.Service), k)
		}
	}
	b.mu.Unlock()
	b.awaken(ctx, fresh...)
}

// awaken has the members of target groups looked after.
func (b *targetBook) awaken(ctx context.Context, groups ...lb.GroupKey) {
	for _, k := range groups {
		select {
		case b.wake <- event.TypedGenericEvent[lb.GroupKey]{Object: k}:
		case <-ctx.Done(): // the operator is about to end
			return
		case <-b.ended:
			return
		}
	}
}

// doubt has the members of a load balancer's target groups compared with those that the cloud has:
// the load balancer was looked at anew, and what was seen of them then is not asked for again.
func (b *targetBook) doubt(ctx context.Context, key lb.Key) {
	b.mu.Lock()
	var doubted []lb.GroupKey
	for k, t := range b.groups {
		if k.Key == key && t.known {
			t.known, t.doubted = false, time.Since(t.set) > lagged
			doubted = append(doubted, k)
		}
	}
	b.mu.Unlock()
	b.awaken(ctx, doubted...)
}

// doubtOne does so for one target group.
func (b *targetBook) doubtOne(ctx context.Context, k lb.GroupKey) {
	b.note(k, func(t *tracked) { t.known = false })
	b.awaken(ctx, k)
}

// expect notes which target groups a load balancer is going to have, before it has them.
func (b *targetBook) expect(key lb.Key, from []cluster.Ref, groups []lb.TargetGroup) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := expectation{from, map[lb.GroupID]lb.TargetGroup{}}
	for _, g := range groups {
		next.groups[g.ID] = g
	}
	b.wanted[key] = next
}

// forget forgets a load balancer that is no more.
func (b *targetBook) forget(key lb.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.wanted, key)
}

// settled reports whether it is known what a load balancer is going to have of a Service.
func (b *targetBook) settled(key lb.Key, service cluster.Ref) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.wanted[key].from, service)
}

// expected are the groups of a Service's Pods that a load balancer is going to have.
func (b *targetBook) expected(key lb.Key, service cluster.Ref) []lb.GroupID {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []lb.GroupID
	for id, g := range b.wanted[key].groups {
		if g.TargetType != v1alpha1.TargetTypeInstance && cluster.RefFrom(cluster.KindService, g.Service) == service {
			out = append(out, id)
		}
	}
	return out
}

// leaves reports whether a group is there that its load balancer is not going to have.
func (b *targetBook) leaves(k lb.GroupKey) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	next, known := b.wanted[k.Key]
	_, wanted := next.groups[k.ID]
	return known && !wanted
}

// of are the target groups of a Service.
func (b *targetBook) of(service cluster.Ref) []lb.GroupKey {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []lb.GroupKey
	for k := range b.by[service] {
		out = append(out, k)
	}
	return out
}

// onInstances are the target groups that have Nodes for targets.
func (b *targetBook) onInstances() []lb.GroupKey {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []lb.GroupKey
	for k, t := range b.groups {
		if t.backend.TargetType == v1alpha1.TargetTypeInstance {
			out = append(out, k)
		}
	}
	return out
}

// look is a copy of what is known of a group.
func (b *targetBook) look(k lb.GroupKey) (tracked, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.groups[k]
	if t == nil {
		return tracked{}, false
	}
	return *t, true
}

// elsewhere is how many targets the other groups of a load balancer have, as far as is known.
func (b *targetBook) elsewhere(k lb.GroupKey) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for other, t := range b.groups {
		if other.Key == k.Key && other != k {
			n += len(t.members)
		}
	}
	return n
}

// portsBeside are the ports that the other groups of a load balancer that belong to the same
// namespace have targets on, and health checks.
func (b *targetBook) portsBeside(k lb.GroupKey) map[int32]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[int32]bool{}
	if b.groups[k] == nil {
		return out
	}
	namespace := cluster.RefFrom(cluster.KindService, b.groups[k].backend.Service).Namespace
	for other, t := range b.groups {
		if other.Key == k.Key && other != k && cluster.RefFrom(cluster.KindService, t.backend.Service).Namespace == namespace {
			for _, m := range t.members {
				out[m.Port] = true
			}
		}
	}
	for _, g := range b.wanted[k.Key].groups {
		if port, err := strconv.ParseInt(g.Health.Port, 10, 32); err == nil && cluster.RefFrom(cluster.KindService, g.Service).Namespace == namespace {
			out[int32(port)] = true
		}
	}
	return out
}

// note changes what is known of a group.
func (b *targetBook) note(k lb.GroupKey, change func(*tracked)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.groups[k]; t != nil {
		change(t)
	}
}

// A registrar makes the members of a target group what its Service says.
type registrar struct {
	cache client.Reader
	pods  cluster.PodReader
	cloud providers.Provider
	book  *targetBook
	// disputes are what others undo, and disputed is told when they have done so too often.
	disputes *disputes.Disputes
	disputed func(ctx context.Context, key lb.Key)
	// waiting is what load balancers wait for, and waits is told when they have for long.
	waiting *waits.Waits
	waits   func(ctx context.Context, key lb.Key)
	// backlog is the changes that the cloud does not have yet, and took is told how long one took.
	backlog *queue.Backlog[lb.GroupKey]
	took    func(time.Duration)
	// registered is told when a target group has got its first members, or lost its last.
	registered func(ctx context.Context, key lb.Key, group lb.GroupID, some bool)
	// crowded is told when a target group has come to have more targets than the cloud takes, or no
	// more.
	crowded func(ctx context.Context, key lb.Key)
}

// Reconcile brings one target group up to date, and measures how long its changes took.
func (r *registrar) Reconcile(ctx context.Context, k lb.GroupKey) (reconcile.Result, error) {
	r.backlog.Begin(k)
	result, err := r.update(ctx, k)
	if t, _ := r.book.look(k); err != nil || !t.waiting.IsZero() {
		return result, err
	}
	if took, worked := r.backlog.Met(k); worked {
		r.took(took)
	}
	return result, nil
}

// update brings one target group up to date. Additions are gathered while more are coming, removals
// do not wait, unless nobody is left; the provider adds before it removes.
func (r *registrar) update(ctx context.Context, k lb.GroupKey) (reconcile.Result, error) {
	t, ok := r.book.look(k)
	if !ok {
		return reconcile.Result{}, nil // deleted since
	}
	ctx = r.waiting.OfCalls(ctx, k.Key)
	found, outlook, err := r.want(ctx, t)
	if err != nil {
		return reconcile.Result{}, err
	}
	if found.Left != t.left {
		r.book.note(k, func(known *tracked) { known.left = found.Left })
		r.crowded(ctx, k.Key)
	}
	if outlook == deserted && r.book.leaves(k) {
		return reconcile.Result{RequeueAfter: mourning}, nil // it goes whole, unless it is wanted again
	}
	if !t.known {
		present, err := r.present(ctx, k)
		if err != nil {
			return reconcile.Result{}, err
		}
		if left := r.leave(ctx, k, t, present, staying(found, t.members)); left > 0 {
			return reconcile.Result{RequeueAfter: left}, nil
		}
		t.members = present
		r.book.note(k, func(known *tracked) { known.members, known.known, known.doubted = t.members, true, false })
	}
	want := staying(found, t.members)
	fits := t.caps.Within(ingress.WithinPorts(want, t.members, r.book.portsBeside(k)), t.members, r.book.elsewhere(k))
	crowded := len(fits) < len(want)
	if want = fits; crowded != t.crowded {
		r.book.note(k, func(known *tracked) { known.crowded = crowded })
		r.crowded(ctx, k.Key)
	}
	later := whenLess(crowded)
	if found.Doubted {
		later = reconcile.Result{RequeueAfter: cluster.Lag}
	}
	wait, change := due(t.members, want, outlook, t.waiting, time.Now())
	switch {
	case !change:
		r.book.note(k, func(known *tracked) { known.waiting = time.Time{} })
		return later, nil
	case wait > 0:
		r.book.note(k, func(known *tracked) {
			if known.waiting.IsZero() {
				known.waiting = time.Now()
			}
		})
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if r.waiting.NewlyLong(k.Key) {
		r.waits(ctx, k.Key)
	}
	if err := r.cloud.SetTargets(ctx, k.Key, k.ID, want); err != nil {
		r.book.note(k, func(known *tracked) { known.known = false })
		if errors.Is(err, providers.ErrNoRoom) {
			err = fmt.Errorf("%w: %w", queue.ErrCrowded, err)
		}
		return reconcile.Result{}, fmt.Errorf("setting the targets of %s in %s: %w", k.ID, k.Key, err)
	}
	r.book.note(k, func(known *tracked) {
		known.members, known.known, known.waiting, known.set = want, true, time.Time{}, time.Now()
	})
	r.backlog.Worked(k)
	if (len(t.members) == 0) != (len(want) == 0) {
		r.registered(ctx, k.Key, k.ID, len(want) > 0)
	}
	return later, nil
}

// staying adds to targets those that are there and whose Pods may be seen yet.
func staying(found endpoints.Found, have []lb.Target) []lb.Target {
	want := found.Targets
	for _, t := range found.Awaited {
		if slices.Contains(have, t) && !slices.Contains(want, t) {
			want = append(slices.Clip(want), t)
		}
	}
	return want
}

// whenLess comes back to a group that is crowded: others of its load balancer may have left.
func whenLess(crowded bool) reconcile.Result {
	if crowded {
		return reconcile.Result{RequeueAfter: queue.AfterCrowded}
	}
	return reconcile.Result{}
}

// An outlook is what is about to become of the targets of a Service.
type outlook int

const (
	settled  outlook = iota // they are as they will be
	more                    // others are coming
	disputed                // nothing may be sent there, unless Pods are seen yet
	deserted                // nobody is left, for the Service is gone or has no endpoint at all
)

// want is what the Service of a group has now, and what is about to become of it.
func (r *registrar) want(ctx context.Context, t tracked) (found endpoints.Found, next outlook, err error) {
	at := cluster.RefFrom(cluster.KindService, t.backend.Service)
	var now endpoints.Objects
	if now.Service, err = cluster.Get[corev1.Service](ctx, r.cache, at); err != nil {
		return found, settled, err
	}
	if now.Slices, err = cluster.EndpointsOf(ctx, r.cache, at); err != nil {
		return found, settled, err
	}
	onNodes := t.backend.TargetType == v1alpha1.TargetTypeInstance
	if onNodes {
		if now.Nodes, err = cluster.NodesIn(ctx, r.cache); err != nil {
			return found, settled, err
		}
	}
	now.PodsKnown = true
	if now.Pods, now.Awaited, err = r.pods.PodsOf(ctx, now.Slices); err != nil {
		return found, settled, err
	}
	found = endpoints.Find(&t.class.LoadBalancerClassSpec, t.backend, now)
	found.Targets = t.caps.Targets(t.backend.TargetType, found.Targets)
	found.Awaited = t.caps.Targets(t.backend.TargetType, found.Awaited)
	switch {
	case len(found.Targets)+len(found.Awaited) == 0 && now.HasNoEndpoints():
		next = deserted
	case found.Disputed:
		next = disputed
	case !onNodes && now.HasUnreadyEndpoints():
		next = more
	}
	return found, next, nil
}

// present is what the cloud has.
func (r *registrar) present(ctx context.Context, k lb.GroupKey) ([]lb.Target, error) {
	healths, err := r.cloud.Targets(ctx, k.Key, k.ID)
	if err != nil {
		return nil, fmt.Errorf("reading the targets of %s in %s: %w", k.ID, k.Key, err)
	}
	var out []lb.Target
	for _, h := range healths {
		if h.State != "draining" {
			out = append(out, h.Target)
		}
	}
	return out, nil
}

// How long changes wait: additions for others that are coming, for pods of one Deployment come in a
// burst; and the last to go, where nobody is left who could answer in their place, for the
// Ingresses that lead there: these often go with the Service, and the target group with them, which
// is not emptied first.
const (
	gather   = time.Second
	mourning = 5 * time.Second
)

// due reports whether the members of a group are to change, and how long that can wait. The last of
// a burst does not: who has seen all pods ready finds all of them serving.
func due(have, want []lb.Target, next outlook, waiting, now time.Time) (wait time.Duration, change bool) {
	missing := func(from, in []lb.Target) bool {
		return slices.ContainsFunc(from, func(t lb.Target) bool { return !slices.Contains(in, t) })
	}
	added, removed := missing(want, have), missing(have, want)
	patience := time.Duration(0)
	switch {
	case !added && !removed:
		return 0, false
	case next == deserted:
		patience = mourning
	case next == disputed:
		patience = cluster.Lag
	case next == more && !removed:
		patience = gather
	}
	if waiting.IsZero() {
		return patience, true
	}
	return max(0, waiting.Add(patience).Sub(now)), true
}

// leave is for how long the members of a target group are left as they are, which others have
// changed: they are those that are present, not those that were set. What the Service asks for anew
// is written all the same, as under a pause.
func (r *registrar) leave(ctx context.Context, k lb.GroupKey, t tracked, present, want []lb.Target) time.Duration {
	now := time.Now()
	if t.doubted && r.disputes.Left(k, now) == 0 {
		var undone []string
		if !sameTargets(t.members, present) {
			undone = []string{"the targets of " + string(k.ID)}
		}
		if r.disputes.Add(k, undone, now) {
			r.disputed(ctx, k.Key)
		}
		r.book.note(k, func(known *tracked) { known.doubted = false }) // once
	}
	if !sameTargets(t.members, want) {
		return 0
	}
	return r.disputes.Left(k, now)
}

func sameTargets(a, b []lb.Target) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(t lb.Target) bool { return !slices.Contains(b, t) })
}
