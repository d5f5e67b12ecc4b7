package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/printable"
)

// This file reads what a load balancer depends on, once. Everything comes from caches but the
// contents of Secrets, of which just those are read that an Ingress names, and Ingresses that are
// remembered and not in the cache: what we hold does not go without a word.

// A gathering is the snapshot of a load balancer and whom it has to let go of.
type gathering struct {
	ingress.Snapshot
	record records.Record // what is remembered
	// actual are the members' Ingresses as they are, by namespace/name.
	actual map[string]*networkingv1.Ingress
	// departed are Ingresses that this load balancer holds and that are no members any more:
	// deleted, or somebody else's. One that is gone already is nil.
	departed map[string]*networkingv1.Ingress
	// disowned are those of the departed that no other load balancer of ours has either.
	disowned map[string]bool
	// withdrawn is what the disowned are told whose class does not permit any more what was served of
	// them.
	withdrawn map[string]diag.Diagnostic
	// waiting are those that become members once there is room.
	waiting map[string]bool
	// vanished are the members that are gone without having been let go of, and are served on, by
	// namespace/name.
	vanished map[string]ingress.Vanishing
	// pausedBy is what pauses the load balancer; "" if nothing does.
	pausedBy string
	// at is when it was read: what had ended by then is tried again.
	at time.Time
}

// ask is what compiling needs to know about the cloud, its limits too if they were in the way last
// time.
func (g *gathering) ask() lb.Questions {
	q := model.Ask(g.Snapshot)
	q.Limits = records.HasRejections(&g.record)
	return q
}

// A gatherer reads.
type gatherer struct {
	cache     client.Reader // everything that is watched
	server    client.Reader // what the cache may be behind of
	secrets   cluster.SecretReader
	judged    *cluster.CertificateCache
	pods      cluster.PodReader
	directory *cluster.Dependencies
	memories  *records.Cache
	scope     string   // the namespace that the operator looks after, or "" for all
	paused    []string // load balancers that a setting pauses, by key
	options   ingress.Options
	// unconfirmed reports whether the last plan of a load balancer has to be confirmed by a second
	// reading, which asks the API server itself.
	unconfirmed func(lb.Key) bool
	// grace is for how long an Ingress that has vanished is served; 0 lets it go at once.
	grace time.Duration
}

// gather makes the snapshot of a load balancer. One that nobody asks for any more has no members.
func (g *gatherer) gather(ctx context.Context, key lb.Key) (*gathering, error) {
	if g.unconfirmed(key) {
		g = g.anew()
	}
	if err := g.memories.Ready(ctx); err != nil {
		return nil, fmt.Errorf("reading what is remembered: %w", err)
	}
	now := time.Now()
	record, memory := g.memories.Get(key), g.memories.Memory(key, now)
	pausedBy, err := g.pausedBy(ctx, key, g.cache)
	if err != nil {
		return nil, err
	}
	names := slices.Concat(g.directory.MembersOf(key), slices.Collect(maps.Keys(memory.Members)))
	objects, err := g.classes(ctx)
	if err != nil {
		return nil, err
	}
	known, err := g.ingresses(ctx, names)
	if err != nil {
		return nil, err
	}
	if err := g.askAgain(ctx, known, memory); err != nil {
		return nil, err
	}
	vanished, err := g.vanished(ctx, key, known, now)
	if err != nil {
		return nil, err
	}
	beside, err := g.ingresses(ctx, g.directory.MembersBeside(key))
	if err != nil {
		return nil, err
	}
	maps.Copy(beside, known) // one that moves between two of them is among both
	objects.Ingresses = slices.DeleteFunc(slices.Collect(maps.Values(beside)), func(i *networkingv1.Ingress) bool { return i == nil })
	if err := g.references(ctx, key, known, memory, &objects); err != nil {
		return nil, err
	}
	// A reservation counts only while the class lets its namespace serve the host.
	if objects.Namespaces, err = g.namespaces(ctx, objects.Ingresses, slices.Concat(slices.Collect(maps.Values(memory.Hosts)), namespacesOf(vanished))...); err != nil {
		return nil, err
	}
	objects.Memories = g.memories.About(names, now)
	memory.Members = maps.Clone(memory.Members)
	objects.Memories[key] = memory
	serveOn(vanished, known, objects.Memories)
	g.memories.AddPinned(g.options.Literal, objects.Memories)

	out := &gathering{Snapshot: ingress.Snapshot{Key: key, Memory: memory}, record: record, departed: known, vanished: vanished, pausedBy: pausedBy, at: now}
	out.Class.Name = key.Class()
	snapshots, homeless := ingress.Split(objects, g.options)
	if at := slices.IndexFunc(snapshots, func(s ingress.Snapshot) bool { return s.Key == key }); at >= 0 {
		out.Snapshot = snapshots[at]
	} else if class := ingress.FindClass(objects, g.options, out.Class.Name); class != nil {
		out.Class = *class // what the cloud can do depends on it
	} else if memory.Class != nil {
		out.Class.LoadBalancerClassSpec = *memory.Class // and whether the load balancer is protected
	}
	if out.NeedsNodes() {
		if out.Nodes, err = cluster.NodesIn(ctx, g.cache); err != nil && ctx.Err() == nil {
			out.NodesUnread, err = printable.Shorten(err.Error()), nil
		}
		if err != nil {
			return nil, err
		}
	}
	out.actual = map[string]*networkingv1.Ingress{}
	for _, ing := range slices.Concat(out.Ingresses, out.LeftOut) {
		out.actual[cluster.RefOf(cluster.KindIngress, ing).String()] = ing
	}
	for _, m := range out.Members {
		delete(out.departed, m.Owner.String())
	}
	for name := range vanished { // of which there may be no version to serve
		delete(out.departed, name)
	}
	out.waiting = map[string]bool{}
	for _, ing := range out.LeftOut {
		name := cluster.RefOf(cluster.KindIngress, ing).String()
		if out.waiting[name] = true; !remembers(memory, name) {
			delete(out.departed, name)
		}
	}
	out.keepRefused(objects, g.options)
	maps.DeleteFunc(out.departed, func(name string, ing *networkingv1.Ingress) bool {
		return rejected(ing, memory.Members[name]) && !slices.ContainsFunc(ingress.LeftAlone(objects, g.options, snapshots), func(d diag.Diagnostic) bool {
			return d.Source.Object() == name
		})
	})
	if len(out.departed) > 0 && out.pausedBy == "" { // a pause that was asked for just before may not be in the cache yet
		if out.pausedBy, err = g.pausedBy(ctx, key, g.server); err != nil {
			return nil, err
		}
	}
	out.disowned = disowned(out.departed, snapshots)
	out.withdrawn = map[string]diag.Diagnostic{}
	for _, d := range homeless {
		if d.Reason == diag.ConsentWithdrawn {
			out.withdrawn[d.Source.Object()] = d
		}
	}
	return out, nil
}

// keepRefused has those of the departed stay in the directory that ask for the load balancer and
// are refused: the hosts that they name are theirs.
func (g *gathering) keepRefused(o ingress.Objects, options ingress.Options) {
	o.Ingresses = slices.DeleteFunc(slices.Collect(maps.Values(g.departed)), func(i *networkingv1.Ingress) bool { return i == nil })
	if len(o.Ingresses) == 0 {
		return // classes are validated once more otherwise, at each reconcile
	}
	for _, m := range ingress.RefusedBy(o, options)[g.Key] {
		if name := m.Owner.String(); !remembers(g.Memory, name) {
			delete(g.departed, name)
			g.actual[name] = m.Ingress
		}
	}
}

// disowned are those of some Ingresses that none of the snapshots has.
func disowned(departed map[string]*networkingv1.Ingress, snapshots []ingress.Snapshot) map[string]bool {
	out := map[string]bool{}
	for name := range departed {
		out[name] = !slices.ContainsFunc(snapshots, func(s ingress.Snapshot) bool {
			return slices.ContainsFunc(s.Members, func(m ingress.Member) bool { return m.Owner.String() == name })
		})
	}
	return out
}

// remembers reports whether a memory has an Ingress.
func remembers(m ingress.Memory, name string) bool {
	_, found := m.Members[name]
	return found
}

// rejected reports whether an Ingress is kept waiting: the cloud would not have it as it is, and
// never had anything of it. What was said of it is remembered as long as it stays so.
func rejected(ing *networkingv1.Ingress, known ingress.Remembered) bool {
	return ing != nil && ing.DeletionTimestamp.IsZero() && !known.Served &&
		slices.ContainsFunc(known.Rejections, func(r ingress.Rejection) bool { return r.Version == ingress.Version(ing) })
}

// names are those of the members, oldest first.
func (g *gathering) names() []string {
	var out []string
	for _, m := range g.Members {
		out = append(out, m.Owner.String())
	}
	return out
}
