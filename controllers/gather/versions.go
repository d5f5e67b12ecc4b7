package gather

import (
	"context"
	"iter"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/controllers/cluster"
)

// This file compares versions of the objects that decide which load balancer an Ingress gets.

// versions has the resourceVersion of objects, "" for an object that does not exist.
type versions map[cluster.Ref]string

// severalVersions stands for an object that was seen in more than one version.
const severalVersions = "several"

// set records the version of an object, or that it does not exist.
func (v versions) set(ref cluster.Ref, o client.Object) {
	if v[ref] = ""; o != nil {
		v[ref] = o.GetResourceVersion()
	}
}

// versionsOf reads the current versions of objects.
func (g *Gatherer) versionsOf(ctx context.Context, refs iter.Seq[cluster.Ref]) (versions, error) {
	out := versions{}
	for ref := range refs {
		o, err := g.readDecisive(ctx, ref)
		if err != nil {
			return nil, err
		}
		out.set(ref, o)
	}
	return out, nil
}

// readDecisive reads an IngressClass, its parameters or a namespace; nil if it does not exist.
func (g *Gatherer) readDecisive(ctx context.Context, ref cluster.Ref) (client.Object, error) {
	switch ref.Kind {
	case cluster.KindIngressClass:
		return existing(cluster.Get[networkingv1.IngressClass](ctx, g.Cache, ref))
	case cluster.KindNamespace:
		return existing(cluster.Get[corev1.Namespace](ctx, g.Cache, ref))
	}
	return g.parameters(ctx, ref)
}

// existing returns an object, or nil for a nil pointer.
func existing[T any, P interface {
	*T
	client.Object
}](o P, err error) (client.Object, error) {
	if o == nil {
		return nil, err
	}
	return o, nil
}
