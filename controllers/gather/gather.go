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
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/record"
)

// This file reads the objects that a load balancer depends on, once. All come from caches, except
// the contents of Secrets, and Ingresses of the record that the cache lacks.

// Gather reads the snapshot of a load balancer. The snapshot has no members if no Ingress asks for
// the load balancer any more.
func (g *Gatherer) Gather(ctx context.Context, key lb.Key) (*Snapshot, error) {
	if g.Unconfirmed(key) {
		g = g.withFreshReader()
	}
	if err := g.Records.Ready(ctx); err != nil {
		return nil, fmt.Errorf("reading the records: %w", err)
	}
	now := time.Now()
	record, recorded := g.Records.Get(key), g.Records.Parsed(key, now)
	out := &Snapshot{
		Snapshot: ingress.Snapshot{Key: key, Recorded: recorded}, Record: record, ReadAt: now,
	}
	var err error
	if out.PausedBy, err = g.pausedBy(ctx, key, g.Cache); err != nil {
		return nil, err
	}
	if out.Adoption, err = g.Adoptions.Present(ctx, key, g.Cache); err != nil {
		return nil, err
	}
	read, err := g.read(ctx, out)
	if err != nil {
		return nil, err
	}
	split, unplaced := ingress.Place(read, g.Options)
	out.takePart(split, read, g.Options)
	if err := g.addSurroundings(ctx, out); err != nil {
		return nil, err
	}
	out.settleDepartures(split, read, g.Options)
	if len(out.Departed) > 0 && out.PausedBy == "" { // the cache may lack a pause from a moment before
		if out.PausedBy, err = g.pausedBy(ctx, key, g.Server); err != nil {
			return nil, err
		}
	}
	out.Disowned = findDisowned(out.Departed, split)
	out.ConsentWithdrawn = map[string]diag.Diagnostic{}
	for _, d := range unplaced {
		if d.Reason == diag.ConsentWithdrawn {
			out.ConsentWithdrawn[d.Source.Object()] = d
		}
	}
	return out, nil
}

// read reads the Ingresses of a load balancer, and the objects that decide their load balancers and
// settings. All its Ingresses are among the departed until they are known to be members.
func (g *Gatherer) read(ctx context.Context, of *Snapshot) (read ingress.Objects, err error) {
	key, recorded, now := of.Key, of.Recorded, of.ReadAt
	names := slices.Concat(g.Directory.MembersOf(key), slices.Collect(maps.Keys(recorded.Members)))
	if of.Departed, err = g.ingresses(ctx, names); err != nil {
		return read, err
	}
	if err := g.confirmIngresses(ctx, of.Departed, recorded); err != nil {
		return read, err
	}
	if of.Vanished, err = g.vanished(ctx, key, of.Departed, now); err != nil {
		return read, err
	}
	beside, err := g.ingresses(ctx, g.Directory.MembersOfSiblings(key))
	if err != nil {
		return read, err
	}
	maps.Copy(beside, of.Departed) // a moving Ingress belongs to both
	read.Ingresses = onlyExisting(beside)
	read.Records = g.Records.ParsedOf(names, now)
	recorded.Members = maps.Clone(recorded.Members)
	read.Records[key] = recorded
	keepServing(of.Vanished, of.Departed, read.Records)
	of.Recorded = recorded
	g.Records.AddPinned(g.Options.Literal, read.Records)
	named := g.classNames(read.Ingresses, read.Records)
	if err := g.addClasses(ctx, named, &read, versions{}); err != nil {
		return read, err
	}
	if err := g.references(ctx, key, of.Departed, recorded, &read); err != nil {
		return read, err
	}
	// A reservation of a host counts only while the class lets its namespace serve the host.
	more := slices.Concat(slices.Collect(maps.Values(recorded.Hosts)), namespacesOf(of.Vanished))
	read.Namespaces, err = g.namespaces(ctx, read.Ingresses, more...)
	return read, err
}

// takePart sets the load balancer's part of the objects. Without a part it sets only the class.
func (g *Snapshot) takePart(
	split []ingress.Snapshot, read ingress.Objects, options ingress.ClassOptions,
) {
	key, recorded := g.Key, g.Recorded
	g.Class.Name = key.Class()
	if at := slices.IndexFunc(split, func(s ingress.Snapshot) bool {
		return s.Key == key
	}); at >= 0 {
		g.Snapshot = split[at]
	} else if class := ingress.FindClass(read, options, g.Class.Name); class != nil {
		g.Class = *class // for the capabilities of the cloud
	} else if recorded.Class != nil {
		// for the protection from deletion
		g.Class.LoadBalancerClassSpec = *recorded.Class
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

// settleDepartures removes from the departed the Ingresses that stay: members, and those that
// vanished, wait for room or are refused.
func (g *Snapshot) settleDepartures(split []ingress.Snapshot, read ingress.Objects,
	options ingress.ClassOptions) {
	for _, m := range g.Members {
		delete(g.Departed, m.Owner.String())
	}
	for name := range g.Vanished { // the record may lack a version to serve
		delete(g.Departed, name)
	}
	recorded := read.Records[g.Key]
	g.AwaitingRoom = map[string]bool{}
	for _, ing := range g.LeftOut {
		name := cluster.RefOf(cluster.KindIngress, ing).String()
		if g.AwaitingRoom[name] = true; !hasMember(recorded, name) {
			delete(g.Departed, name)
		}
	}
	g.keepRefused(read, options)
	maps.DeleteFunc(g.Departed, func(name string, ing *networkingv1.Ingress) bool {
		return isRejected(ing, recorded.Members[name], read, options) &&
			!slices.ContainsFunc(ingress.LeftAlone(read, options, split), func(d diag.Diagnostic) bool {
				return d.Source.Object() == name
			})
	})
}

// onlyExisting returns the Ingresses that exist.
func onlyExisting(known map[string]*networkingv1.Ingress) []*networkingv1.Ingress {
	return slices.DeleteFunc(slices.Collect(maps.Values(known)), func(i *networkingv1.Ingress) bool {
		return i == nil
	})
}

// keepRefused keeps in the directory the departed Ingresses that ask for the load balancer and are
// refused: they own the hosts that they name.
func (g *Snapshot) keepRefused(o ingress.Objects, options ingress.ClassOptions) {
	o.Ingresses = onlyExisting(g.Departed)
	if len(o.Ingresses) == 0 {
		return // to validate classes at each reconcile takes time
	}
	asked := maps.Clone(g.Departed)
	for _, m := range ingress.RefusedBy(o, options)[g.Key] {
		if name := m.Owner.String(); !hasMember(g.Recorded, name) {
			delete(g.Departed, name)
			g.Actual[name] = asked[name]
		}
	}
}

// findDisowned returns for each departed Ingress whether every snapshot lacks it.
func findDisowned(departed map[string]*networkingv1.Ingress,
	split []ingress.Snapshot) map[string]bool {
	out := map[string]bool{}
	for name := range departed {
		out[name] = !slices.ContainsFunc(split, func(s ingress.Snapshot) bool {
			return slices.ContainsFunc(s.Members, func(m ingress.Member) bool {
				return m.Owner.String() == name
			})
		})
	}
	return out
}

// hasMember reports whether a record has an Ingress.
func hasMember(m record.Record, name string) bool {
	_, found := m.Members[name]
	return found
}

// isRejected reports whether the cloud has refused this version of an Ingress, and never served an
// earlier one. The record keeps the refusal until the Ingress changes.
func isRejected(ing *networkingv1.Ingress, known record.Member, o ingress.Objects,
	options ingress.ClassOptions) bool {
	if ing == nil || !ing.DeletionTimestamp.IsZero() || known.Served || len(known.Rejections) == 0 {
		return false
	}
	version := record.Version(ingress.ReadAs(o, options, ing))
	return slices.ContainsFunc(known.Rejections, func(r record.Rejection) bool {
		return r.Version == version
	})
}
