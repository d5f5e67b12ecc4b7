package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	networkingv1 "k8s.io/api/networking/v1"
)

// This file finds the load balancers of an Ingress.

// A placement is the load balancers that an Ingress belongs to, and what is to be said if there are
// none.
type placement struct {
	homes []lb.Key
	// refusedAt are those that it asks for as it is, and that refuse it.
	refusedAt []lb.Key
	homeless  []diag.Diagnostic
}

// placeOf finds the load balancers of an Ingress. One that is being deleted still belongs where it
// did.
func (g *gatherer) placeOf(ctx context.Context, ing *networkingv1.Ingress) (placement, error) {
	if err := g.memories.Ready(ctx); err != nil {
		return placement{}, fmt.Errorf("reading what is remembered: %w", err)
	}
	objects, err := g.classes(ctx)
	if err != nil {
		return placement{}, err
	}
	alive := *ing
	alive.DeletionTimestamp = nil
	objects.Ingresses = []*networkingv1.Ingress{&alive}
	if objects.Namespaces, err = g.namespaces(ctx, objects.Ingresses); err != nil {
		return placement{}, err
	}
	who := cluster.RefOf(cluster.KindIngress, ing)
	objects.Memories = g.memories.About([]string{who.String()}, time.Now())
	g.memories.AddPinned(g.options.Literal, objects.Memories)
	snapshots, homeless := ingress.Split(objects, g.options)
	out, found := placement{homes: g.memories.Holding(who.String())}, homeless
	for _, s := range snapshots {
		out.homes, found = append(out.homes, s.Key), slices.Concat(found, s.Diagnostics)
	}
	slices.Sort(out.homes)
	out.homes = slices.Compact(out.homes)
	out.homeless = slices.DeleteFunc(homeless, func(d diag.Diagnostic) bool {
		return d.Source.Kind != cluster.KindIngress // of classes, which are not this one's to report
	})
	if slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Severity == diag.Error }) {
		out.refusedAt = slices.Sorted(maps.Keys(ingress.RefusedBy(objects, g.options)))
	}
	return out, nil
}
