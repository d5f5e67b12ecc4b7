// Package gather reads what a load balancer depends on: its Ingresses, their classes, the objects to
// which they refer, and its record.
package gather

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/classes"
	"fairlead.dev/fairlead/model/ingress/members"
	"fairlead.dev/fairlead/model/ingress/objects"
	"fairlead.dev/fairlead/model/ingress/placement"
	"fairlead.dev/fairlead/model/ingress/snapshots"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/memory"
	"fairlead.dev/fairlead/model/printable"
)

// This file reads the objects that a load balancer depends on, once. All of them come from caches,
// with two exceptions: the contents of the Secrets that an Ingress names, and Ingresses that the
// record has and the cache has not.

// Gather reads the snapshot of a load balancer. Where no Ingress asks for it any more, the snapshot
// has no members.
func (g *Gatherer) Gather(ctx context.Context, key lb.Key) (*Snapshot, error) {
	if g.Unconfirmed(key) {
		g = g.anew()
	}
	if err := g.Memories.Ready(ctx); err != nil {
		return nil, fmt.Errorf("reading what is remembered: %w", err)
	}
	now := time.Now()
	record, memory := g.Memories.Get(key), g.Memories.Memory(key, now)
	pausedBy, err := g.pausedBy(ctx, key, g.Cache)
	if err != nil {
		return nil, err
	}
	names := slices.Concat(g.Directory.MembersOf(key), slices.Collect(maps.Keys(memory.Members)))
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
	beside, err := g.ingresses(ctx, g.Directory.MembersBeside(key))
	if err != nil {
		return nil, err
	}
	maps.Copy(beside, known) // an Ingress that moves from one to the other is among both
	var read objects.Objects
	read.Ingresses = slices.DeleteFunc(slices.Collect(maps.Values(beside)), func(i *networkingv1.Ingress) bool { return i == nil })
	read.Memories = g.Memories.About(names, now)
	memory.Members = maps.Clone(memory.Members)
	read.Memories[key] = memory
	serveOn(vanished, known, read.Memories)
	g.Memories.AddPinned(g.Options.Literal, read.Memories)
	named := g.classNames(read.Ingresses, read.Memories)
	if err := g.addClasses(ctx, named, &read, versions{}); err != nil {
		return nil, err
	}
	if err := g.references(ctx, key, known, memory, &read); err != nil {
		return nil, err
	}
	// A reservation of a host counts only while the class lets its namespace serve the host.
	if read.Namespaces, err = g.namespaces(ctx, read.Ingresses, slices.Concat(slices.Collect(maps.Values(memory.Hosts)), namespacesOf(vanished))...); err != nil {
		return nil, err
	}

	out := &Snapshot{Snapshot: snapshots.Snapshot{Key: key, Memory: memory}, Record: record, Departed: known, Vanished: vanished, PausedBy: pausedBy, ReadAt: now}
	out.Class.Name = key.Class()
	split, homeless := placement.Split(read, g.Options)
	if at := slices.IndexFunc(split, func(s snapshots.Snapshot) bool { return s.Key == key }); at >= 0 {
		out.Snapshot = split[at]
	} else if class := classes.FindClass(read, g.Options, out.Class.Name); class != nil {
		out.Class = *class // the capabilities of the cloud depend on it
	} else if memory.Class != nil {
		out.Class.LoadBalancerClassSpec = *memory.Class // whether the load balancer is protected depends on it
	}
	if ref := out.Class.Expectations; ref != nil {
		set := g.Expectations.Read(ctx, cluster.RefTo(cluster.KindConfigMap, ref.Namespace, ref.Name))
		out.Expectations = &set
	}
	if out.NeedsNodes() {
		if out.Nodes, err = cluster.NodesIn(ctx, g.Cache); err != nil && ctx.Err() == nil {
			out.NodesUnread, err = printable.Shorten(err.Error()), nil
		}
		if err != nil {
			return nil, err
		}
	}
	out.Actual = map[string]*networkingv1.Ingress{}
	for _, ing := range slices.Concat(out.Ingresses, out.LeftOut) {
		out.Actual[cluster.RefOf(cluster.KindIngress, ing).String()] = ing
	}
	for _, m := range out.Members {
		delete(out.Departed, m.Owner.String())
	}
	for name := range vanished { // there may be no version to serve
		delete(out.Departed, name)
	}
	out.AwaitingRoom = map[string]bool{}
	for _, ing := range out.LeftOut {
		name := cluster.RefOf(cluster.KindIngress, ing).String()
		if out.AwaitingRoom[name] = true; !remembers(memory, name) {
			delete(out.Departed, name)
		}
	}
	out.keepRefused(read, g.Options)
	maps.DeleteFunc(out.Departed, func(name string, ing *networkingv1.Ingress) bool {
		return rejected(ing, memory.Members[name]) && !slices.ContainsFunc(placement.LeftAlone(read, g.Options, split), func(d diag.Diagnostic) bool {
			return d.Source.Object() == name
		})
	})
	if len(out.Departed) > 0 && out.PausedBy == "" { // the cache may lack a pause from a moment before
		if out.PausedBy, err = g.pausedBy(ctx, key, g.Server); err != nil {
			return nil, err
		}
	}
	out.Disowned = disowned(out.Departed, split)
	out.ConsentWithdrawn = map[string]diag.Diagnostic{}
	for _, d := range homeless {
		if d.Reason == diag.ConsentWithdrawn {
			out.ConsentWithdrawn[d.Source.Object()] = d
		}
	}
	return out, nil
}

// keepRefused keeps those of the departed in the directory that ask for the load balancer and are
// refused: they own the hosts that they name.
func (g *Snapshot) keepRefused(o objects.Objects, options classes.Options) {
	o.Ingresses = slices.DeleteFunc(slices.Collect(maps.Values(g.Departed)), func(i *networkingv1.Ingress) bool { return i == nil })
	if len(o.Ingresses) == 0 {
		return // validating classes costs time at each reconcile
	}
	for _, m := range placement.RefusedBy(o, options)[g.Key] {
		if name := m.Owner.String(); !remembers(g.Memory, name) {
			delete(g.Departed, name)
			g.Actual[name] = m.Ingress
		}
	}
}

// disowned returns for each of some Ingresses whether none of the snapshots has it.
func disowned(departed map[string]*networkingv1.Ingress, split []snapshots.Snapshot) map[string]bool {
	out := map[string]bool{}
	for name := range departed {
		out[name] = !slices.ContainsFunc(split, func(s snapshots.Snapshot) bool {
			return slices.ContainsFunc(s.Members, func(m members.Member) bool { return m.Owner.String() == name })
		})
	}
	return out
}

// remembers reports whether a memory has an Ingress.
func remembers(m memory.LoadBalancer, name string) bool {
	_, found := m.Members[name]
	return found
}

// rejected reports whether an Ingress waits: the cloud refused it as it is, and nothing of it was
// ever served. The record keeps the refusal for as long as the Ingress stays so.
func rejected(ing *networkingv1.Ingress, known memory.Member) bool {
	return ing != nil && ing.DeletionTimestamp.IsZero() && !known.Served &&
		slices.ContainsFunc(known.Rejections, func(r memory.Rejection) bool { return r.Version == memory.Version(ing) })
}
