package gather

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/controllers/cluster"
)

// This file finds the Ingresses whose load balancers can change with a class, its parameters or a
// namespace.

// A Placer finds the load balancers of Ingresses, and remembers the versions of the objects that
// decided this. A starting operator gets an event for each class and namespace; events for
// remembered versions are ignored.
type Placer struct {
	*Gatherer
	mu sync.Mutex
	// placedUnder holds the versions of the objects on which placements depended.
	placedUnder versions
	// incomplete is set if placements depended on objects that placedUnder lacks.
	incomplete bool
}

// mostVersions is the limit of remembered versions. Ingresses can name classes that do not exist,
// so there is no other bound.
const mostVersions = 10_000

// NewPlacer returns the Placer of one reconciler.
func NewPlacer(g *Gatherer) *Placer { return &Placer{Gatherer: g, placedUnder: versions{}} }

// PlaceOf finds the load balancers of an Ingress. After the versions are noted, a change of one of
// the objects leads to the Ingress; an earlier change is found here.
func (p *Placer) PlaceOf(ctx context.Context, ing *networkingv1.Ingress) (Placement, error) {
	for {
		out, seen, err := p.place(ctx, ing)
		if err == nil {
			p.noteVersions(seen)
			var now versions
			if now, err = p.versionsOf(ctx, maps.Keys(seen)); maps.Equal(seen, now) {
				return out, nil
			}
		}
		if err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.incomplete = true
			return out, err
		}
	}
}

// noteVersions remembers the versions under which an Ingress was placed.
func (p *Placer) noteVersions(seen versions) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.placedUnder) >= mostVersions {
		p.placedUnder, p.incomplete = versions{}, true
	}
	for ref, version := range seen {
		if before, known := p.placedUnder[ref]; known && before != version {
			version = severalVersions
		}
		p.placedUnder[ref] = version
	}
}

// isOutdated reports whether an Ingress was placed with another version of an object. The caller
// then places the Ingresses that depend on the object again.
func (p *Placer) isOutdated(ctx context.Context, ref cluster.Ref) (bool, error) {
	now, err := p.versionsOf(ctx, slices.Values([]cluster.Ref{ref}))
	if err != nil {
		return false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	before, known := p.placedUnder[ref]
	if !known || before == now[ref] {
		return !known && p.incomplete, nil
	}
	delete(p.placedUnder, ref)
	return true, nil
}

// Affected returns the Ingresses whose load balancers can change with an object, which is an
// IngressClass or the parameters of classes. The caller must not change the Ingresses.
func (p *Placer) Affected(
	ctx context.Context, changed cluster.Ref, classes []string,
) ([]*networkingv1.Ingress, error) {
	if outdated, err := p.isOutdated(ctx, changed); !outdated {
		return nil, err
	}
	found := map[string]*networkingv1.Ingress{}
	for _, class := range classes {
		names := []string{class}
		if class == p.Options.WithoutClass {
			names = append(names, cluster.NoClass)
		}
		for _, name := range names {
			if err := p.list(ctx, found, client.MatchingFields{cluster.IngressClass: name}); err != nil {
				return nil, err
			}
		}
		for _, member := range p.Directory.MembersOfClass(class) {
			if found[member] != nil {
				continue
			}
			ref := cluster.RefFrom(cluster.KindIngress, member)
			ing, err := cluster.Get[networkingv1.Ingress](ctx, p.Cache, ref)
			if err != nil {
				return nil, err
			}
			if ing != nil {
				found[member] = ing
			}
		}
	}
	return sorted(found), nil
}

// AffectedIn returns the Ingresses of a namespace, if their load balancers can change with it. The
// caller must not change the Ingresses.
func (p *Placer) AffectedIn(
	ctx context.Context, namespace *corev1.Namespace,
) ([]*networkingv1.Ingress, error) {
	changed := cluster.RefOf(cluster.KindNamespace, namespace)
	if outdated, err := p.isOutdated(ctx, changed); !outdated {
		return nil, err
	}
	found := map[string]*networkingv1.Ingress{}
	if err := p.list(ctx, found, client.InNamespace(namespace.Name)); err != nil {
		return nil, err
	}
	return sorted(found), nil
}

// list adds the Ingresses of a list.
func (p *Placer) list(
	ctx context.Context, to map[string]*networkingv1.Ingress, which client.ListOption,
) error {
	var list networkingv1.IngressList
	if err := p.Cache.List(ctx, &list, which, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing Ingresses: %w", err)
	}
	for i := range list.Items {
		to[cluster.RefOf(cluster.KindIngress, &list.Items[i]).String()] = &list.Items[i]
	}
	return nil
}

// sorted returns Ingresses in the order of their names.
func sorted(found map[string]*networkingv1.Ingress) []*networkingv1.Ingress {
	out := make([]*networkingv1.Ingress, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[name])
	}
	return out
}
