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
)

// This file finds the load balancers of an Ingress.

// A Placement is the load balancers of an Ingress, and the diagnostics of one that has none.
type Placement struct {
	Homes []lb.Key
	// RefusedAt are the load balancers that the Ingress asks for as it is, and that refuse it.
	RefusedAt []lb.Key
	Homeless  []diag.Diagnostic
}

// PlaceOf finds the load balancers of an Ingress. An Ingress that is being deleted stays at its
// load balancers.
func (g *Gatherer) PlaceOf(ctx context.Context, ing *networkingv1.Ingress) (Placement, error) {
	if err := g.Memories.Ready(ctx); err != nil {
		return Placement{}, fmt.Errorf("reading what is remembered: %w", err)
	}
	objects, err := g.Classes(ctx)
	if err != nil {
		return Placement{}, err
	}
	alive := *ing
	alive.DeletionTimestamp = nil
	objects.Ingresses = []*networkingv1.Ingress{&alive}
	if objects.Namespaces, err = g.namespaces(ctx, objects.Ingresses); err != nil {
		return Placement{}, err
	}
	who := cluster.RefOf(cluster.KindIngress, ing)
	objects.Memories = g.Memories.About([]string{who.String()}, time.Now())
	g.Memories.AddPinned(g.Options.Literal, objects.Memories)
	snapshots, homeless := ingress.Split(objects, g.Options)
	out, found := Placement{Homes: g.Memories.Holding(who.String())}, homeless
	for _, s := range snapshots {
		out.Homes, found = append(out.Homes, s.Key), slices.Concat(found, s.Diagnostics)
	}
	slices.Sort(out.Homes)
	out.Homes = slices.Compact(out.Homes)
	out.Homeless = slices.DeleteFunc(homeless, func(d diag.Diagnostic) bool {
		return d.Source.Kind != cluster.KindIngress // the diagnostics of classes are reported elsewhere
	})
	if slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Severity == diag.Error }) {
		out.RefusedAt = slices.Sorted(maps.Keys(ingress.RefusedBy(objects, g.Options)))
	}
	return out, nil
}
