package gather

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/record"
)

// This file finds the load balancers of an Ingress.

// A Placement has the load balancers of an Ingress, or the diagnostics if it has none.
type Placement struct {
	Keys []lb.Key
	// RefusedBy are the load balancers that refuse the current version of the Ingress.
	RefusedBy []lb.Key
	// NeedsRoom: the Ingress needs one more load balancer than the class lets its namespace have.
	NeedsRoom   bool
	Diagnostics []diag.Diagnostic
}

// Existing returns the load balancers of a tenant that have a record, or to which Ingresses were
// added; true for those with Ingresses.
func (g *Gatherer) Existing(tenant string) map[lb.Key]bool {
	out := g.Records.OfTenant(tenant)
	for _, key := range g.Directory.OfTenant(tenant) {
		out[key] = true
	}
	return out
}

// PlaceOf finds the load balancers of an Ingress.
func (g *Gatherer) PlaceOf(ctx context.Context, ing *networkingv1.Ingress) (Placement, error) {
	out, _, err := g.place(ctx, ing)
	return out, err
}

// place finds the load balancers of an Ingress, and returns the versions of the objects that
// decided this. An Ingress that is being deleted keeps its load balancers.
func (g *Gatherer) place(
	ctx context.Context, ing *networkingv1.Ingress,
) (Placement, versions, error) {
	if err := g.Records.Ready(ctx); err != nil {
		return Placement{}, nil, fmt.Errorf("reading the records: %w", err)
	}
	name := cluster.RefOf(cluster.KindIngress, ing).String()
	objects, seen, err := g.decisions(ctx, ing, name)
	if err != nil {
		return Placement{}, nil, err
	}
	snapshots, unplaced := ingress.Place(objects, g.Options)
	out, found := Placement{Keys: g.Records.Holding(name)}, unplaced
	for _, s := range snapshots {
		out.Keys, found = append(out.Keys, s.Key), slices.Concat(found, s.Diagnostics)
	}
	slices.Sort(out.Keys)
	out.Keys = slices.Compact(out.Keys)
	out.Diagnostics = slices.DeleteFunc(unplaced, func(d diag.Diagnostic) bool {
		return d.Source.Kind != cluster.KindIngress // those of classes are reported with the classes
	})
	out.NeedsRoom = slices.ContainsFunc(found, func(d diag.Diagnostic) bool {
		return d.Reason == diag.LoadBalancerQuota
	})
	if slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Severity == diag.Error }) {
		out.RefusedBy = slices.Sorted(maps.Keys(ingress.RefusedBy(objects, g.Options)))
	}
	return out, seen, nil
}

// decisions reads the objects that decide which load balancers an Ingress gets.
func (g *Gatherer) decisions(
	ctx context.Context, ing *networkingv1.Ingress, name string,
) (o ingress.Objects, seen versions, err error) {
	alive := *ing
	alive.DeletionTimestamp = nil
	o.Ingresses = []*networkingv1.Ingress{&alive}
	o.Records = g.Records.ParsedOf([]string{name}, time.Now())
	g.Records.AddPinned(g.Options.Literal, o.Records)
	seen = versions{cluster.RefTo(cluster.KindNamespace, "", ing.Namespace): ""}
	if o.Namespaces, err = g.namespaces(ctx, o.Ingresses); err != nil {
		return o, nil, err
	}
	for _, n := range o.Namespaces {
		seen.set(cluster.RefOf(cluster.KindNamespace, n), n)
	}
	if err := g.addClasses(ctx, g.classNames(o.Ingresses, o.Records), &o, seen); err != nil {
		return o, nil, err
	}
	return o, seen, g.addReadBeside(ctx, ing, name, &o)
}

// addReadBeside reads the objects on which the meaning of an Ingress depends if it is read in a dialect: its
// Services, and the others of its namespace. They count where the cloud has refused a version, since a
// version is what an Ingress is read as.
func (g *Gatherer) addReadBeside(ctx context.Context, ing *networkingv1.Ingress, name string, o *ingress.Objects) (err error) {
	if !slices.ContainsFunc(slices.Collect(maps.Values(o.Records)), func(r record.Record) bool {
		return len(r.Members[name].Rejections) > 0
	}) {
		return nil
	}
	named := References{}
	named.Add(ing.Namespace, ing.Annotations, &ing.Spec)
	if o.Services, err = cluster.GetAll(ctx, g.Cache, named[cluster.KindService], o.Services); err != nil {
		return err
	}
	var list networkingv1.IngressList
	if err := g.Cache.List(ctx, &list, client.InNamespace(ing.Namespace)); err != nil {
		return fmt.Errorf("listing Ingresses: %w", err)
	}
	for i := range list.Items {
		if list.Items[i].Name != ing.Name {
			o.Beside = append(o.Beside, &list.Items[i])
		}
	}
	return nil
}
