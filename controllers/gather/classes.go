package gather

import (
	"context"
	"fmt"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/record"
)

// This file reads classes and their parameters.

// Classes returns all classes and their parameters.
func (g *Gatherer) Classes(ctx context.Context) (ingress.Objects, error) {
	var o ingress.Objects
	var classes networkingv1.IngressClassList
	var clusterwide v1alpha1.ClusterLoadBalancerClassList
	var namespaced v1alpha1.LoadBalancerClassList
	var foreign alb.IngressClassParamsList
	lists := []client.ObjectList{&classes, &clusterwide, &namespaced}
	if g.Optional.Has(cluster.KindIngressClassParams) {
		lists = append(lists, &foreign)
	}
	for _, list := range lists {
		if err := g.Cache.List(ctx, list); err != nil {
			return o, fmt.Errorf("listing classes: %w", err)
		}
	}
	o.IngressClasses = cluster.Pointers(classes.Items)
	o.ClusterLoadBalancerClasses = cluster.Pointers(clusterwide.Items)
	o.LoadBalancerClasses = cluster.Pointers(namespaced.Items)
	o.IngressClassParams = cluster.Pointers(foreign.Items)
	return o, nil
}

// ClassesOf returns the IngressClasses whose parameters an object can be.
func (g *Gatherer) ClassesOf(ctx context.Context, parameters cluster.Ref) ([]string, error) {
	var list networkingv1.IngressClassList
	which := client.MatchingFields{cluster.ClassParameters: parameters.Key()}
	if err := g.Cache.List(ctx, &list, which); err != nil {
		return nil, fmt.Errorf("listing the classes of %s: %w", parameters.Key(), err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}

// classNames returns the classes on which the load balancers of Ingresses depend: those that the
// Ingresses name, the class of Ingresses that name none, and those of recorded load balancers.
func (g *Gatherer) classNames(
	ingresses []*networkingv1.Ingress, records map[lb.Key]record.Record,
) map[string]bool {
	names := map[string]bool{g.Options.WithoutClass: true}
	for _, ing := range ingresses {
		for _, name := range cluster.ClassesOfIngress(ing) {
			names[name] = true
		}
	}
	for key := range records {
		names[key.Class()] = true
	}
	delete(names, "")
	delete(names, cluster.NoClass)
	return names
}

// addClasses reads the classes that exist, with their parameters, and adds them to objects and
// their versions.
func (g *Gatherer) addClasses(
	ctx context.Context, names map[string]bool, to *ingress.Objects, v versions,
) error {
	read := map[cluster.Ref]client.Object{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		ref := cluster.RefTo(cluster.KindIngressClass, "", name)
		class, err := cluster.Get[networkingv1.IngressClass](ctx, g.Cache, ref)
		if err != nil {
			return err
		}
		if v[ref] = ""; class != nil {
			v[ref] = class.ResourceVersion
			to.IngressClasses = append(to.IngressClasses, class)
		}
		if err := g.addParameters(ctx, class, read, to); err != nil {
			return err
		}
	}
	for ref, found := range read {
		v.set(ref, found)
	}
	return nil
}

// addParameters reads the parameters of a class that were not read yet, and adds them to both.
func (g *Gatherer) addParameters(ctx context.Context, of *networkingv1.IngressClass,
	read map[cluster.Ref]client.Object, to *ingress.Objects) error {
	refs := cluster.ParametersRefs(of)
	for i, ref := range refs {
		if i > 0 && ref.Kind == cluster.KindIngressClassParams && !hasDialect(read[refs[0]]) {
			continue
		}
		if _, known := read[ref]; known {
			continue
		}
		found, err := g.parameters(ctx, ref)
		if err != nil {
			return err
		}
		read[ref] = found
		switch p := found.(type) {
		case *v1alpha1.ClusterLoadBalancerClass:
			to.ClusterLoadBalancerClasses = append(to.ClusterLoadBalancerClasses, p)
		case *v1alpha1.LoadBalancerClass:
			to.LoadBalancerClasses = append(to.LoadBalancerClasses, p)
		case *alb.IngressClassParams:
			to.IngressClassParams = append(to.IngressClassParams, p)
		}
	}
	return nil
}

// hasDialect reports whether parameters say that a class follows those of another controller, too.
func hasDialect(parameters client.Object) bool {
	switch p := parameters.(type) {
	case *v1alpha1.ClusterLoadBalancerClass:
		return p.Spec.Dialect != ""
	case *v1alpha1.LoadBalancerClass:
		return p.Spec.Dialect != ""
	}
	return false
}

// parameters reads the parameters of a class; nil if there are none.
func (g *Gatherer) parameters(ctx context.Context, ref cluster.Ref) (client.Object, error) {
	switch ref.Kind {
	case v1alpha1.KindClusterLoadBalancerClass:
		return existing(cluster.Get[v1alpha1.ClusterLoadBalancerClass](ctx, g.Cache, ref))
	case v1alpha1.KindLoadBalancerClass:
		return existing(cluster.Get[v1alpha1.LoadBalancerClass](ctx, g.Cache, ref))
	case cluster.KindIngressClassParams:
		if g.Optional.Has(ref.Kind) {
			return existing(cluster.Get[alb.IngressClassParams](ctx, g.Cache, ref))
		}
	}
	return nil, nil // the compiler refuses the reference
}
