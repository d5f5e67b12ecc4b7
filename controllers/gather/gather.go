// Package gather reads what a load balancer depends on: its Ingresses, their classes, the objects
// to which they refer, and its record.
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
		return nil, fmt.Errorf("reading the records: %w", err)
	}
	now := time.Now()
	record, memory := g.Memories.Get(key), g.Memories.Memory(key, now)
	out := &Snapshot{
		Snapshot: snapshots.Snapshot{Key: key, Memory: memory}, Record: record, ReadAt: now,
	}
	var err error
	if out.PausedBy, err = g.pausedBy(ctx, key, g.Cache); err != nil {
		return nil, err
	}
	read, err := g.read(ctx, out)
	if err != nil {
		return nil, err
	}
	split, homeless := placement.Split(read, g.Options)
	out.take(split, read, g.Options)
	if err := g.addSurroundings(ctx, out); err != nil {
		return nil, err
	}
	out.settleDepartures(split, read, g.Options)
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

// read reads the Ingresses of a load balancer, and the objects that decide where they belong and
// how they are served. All its Ingresses are among the departed until they are known to be members.
func (g *Gatherer) read(ctx context.Context, of *Snapshot) (read objects.Objects, err error) {
	key, memory, now := of.Key, of.Memory, of.ReadAt
	names := slices.Concat(g.Directory.MembersOf(key), slices.Collect(maps.Keys(memory.Members)))
	if of.Departed, err = g.ingresses(ctx, names); err != nil {
		return read, err
	}
	if err := g.askAgain(ctx, of.Departed, memory); err != nil {
		return read, err
	}
	if of.Vanished, err = g.vanished(ctx, key, of.Departed, now); err != nil {
		return read, err
	}
	beside, err := g.ingresses(ctx, g.Directory.MembersBeside(key))
	if err != nil {
		return read, err
	}
	maps.Copy(beside, of.Departed) // an Ingress that moves from one to the other is among both
	read.Ingresses = thatExist(beside)
	read.Memories = g.Memories.About(names, now)
	memory.Members = maps.Clone(memory.Members)
	read.Memories[key] = memory
	serveOn(of.Vanished, of.Departed, read.Memories)
	of.Memory = memory
	g.Memories.AddPinned(g.Options.Literal, read.Memories)
	named := g.classNames(read.Ingresses, read.Memories)
	if err := g.addClasses(ctx, named, &read, versions{}); err != nil {
		return read, err
	}
	if err := g.references(ctx, key, of.Departed, memory, &read); err != nil {
		return read, err
	}
	// A reservation of a host counts only while the class lets its namespace serve the host.
	more := slices.Concat(slices.Collect(maps.Values(memory.Hosts)), namespacesOf(of.Vanished))
	read.Namespaces, err = g.namespaces(ctx, read.Ingresses, more...)
	return read, err
}

// take takes the load balancer's part of what was read. Without a part the class is still needed.
func (g *Snapshot) take(split []snapshots.Snapshot, read objects.Objects, options classes.Options) {
	key, memory := g.Key, g.Memory
	g.Class.Name = key.Class()
	if at := slices.IndexFunc(split, func(s snapshots.Snapshot) bool {
		return s.Key == key
	}); at >= 0 {
		g.Snapshot = split[at]
	} else if class := classes.FindClass(read, options, g.Class.Name); class != nil {
		g.Class = *class // the capabilities of the cloud depend on it
	} else if memory.Class != nil {
		// whether the load balancer is protected depends on it
		g.Class.LoadBalancerClassSpec = *memory.Class
	}
	g.Actual = map[string]*networkingv1.Ingress{}
	for _, ing := range slices.Concat(g.Ingresses, g.LeftOut) {
		g.Actual[cluster.RefOf(cluster.KindIngress, ing).String()] = ing
	}
}

// addSurroundings reads the expectations of the class, and the Nodes if the targets are Nodes.
func (g *Gatherer) addSurroundings(ctx context.Context, to *Snapshot) (err error) {
	if ref := to.Class.Expectations; ref != nil {
		set := g.Expectations.Read(ctx, cluster.RefTo(cluster.KindConfigMap, ref.Namespace, ref.Name))
		to.Expectations = &set
	}
	if !to.NeedsNodes() {
		return nil
	}
	if to.Nodes, err = cluster.NodesIn(ctx, g.Cache); err != nil && ctx.Err() == nil {
		to.NodesUnread, err = printable.Shorten(err.Error()), nil
	}
	return err
}

// settleDepartures takes from the departed those that stay: members, those that vanished, those
// that wait for room, and those that are refused.
func (g *Snapshot) settleDepartures(split []snapshots.Snapshot, read objects.Objects,
	options classes.Options) {
	for _, m := range g.Members {
		delete(g.Departed, m.Owner.String())
	}
	for name := range g.Vanished { // there may be no version to serve
		delete(g.Departed, name)
	}
	memory := read.Memories[g.Key]
	g.AwaitingRoom = map[string]bool{}
	for _, ing := range g.LeftOut {
		name := cluster.RefOf(cluster.KindIngress, ing).String()
		if g.AwaitingRoom[name] = true; !remembers(memory, name) {
			delete(g.Departed, name)
		}
	}
	g.keepRefused(read, options)
	maps.DeleteFunc(g.Departed, func(name string, ing *networkingv1.Ingress) bool {
		return rejected(ing, memory.Members[name]) &&
			!slices.ContainsFunc(placement.LeftAlone(read, options, split), func(d diag.Diagnostic) bool {
				return d.Source.Object() == name
			})
	})
}

// thatExist returns those of some Ingresses that exist.
func thatExist(known map[string]*networkingv1.Ingress) []*networkingv1.Ingress {
	return slices.DeleteFunc(slices.Collect(maps.Values(known)), func(i *networkingv1.Ingress) bool {
		return i == nil
	})
}

// keepRefused keeps those of the departed in the directory that ask for the load balancer and are
// refused: they own the hosts that they name.
func (g *Snapshot) keepRefused(o objects.Objects, options classes.Options) {
	o.Ingresses = thatExist(g.Departed)
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
func disowned(departed map[string]*networkingv1.Ingress,
	split []snapshots.Snapshot) map[string]bool {
	out := map[string]bool{}
	for name := range departed {
		out[name] = !slices.ContainsFunc(split, func(s snapshots.Snapshot) bool {
			return slices.ContainsFunc(s.Members, func(m members.Member) bool {
				return m.Owner.String() == name
			})
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
		slices.ContainsFunc(known.Rejections, func(r memory.Rejection) bool {
			return r.Version == memory.Version(ing)
		})
}
