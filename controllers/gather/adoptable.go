package gather

import (
	"context"
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/ingress"
)

// This file reads the Ingresses whose load balancers are taken over from another controller.

// Adoptable returns the Ingresses of classes with adoption, and these classes. IngressClasses that are still of the other
// controller are read as Fairlead's. There are no classes if none has adoption.
func (g *Gatherer) Adoptable(ctx context.Context) (ingress.Objects, ingress.ClassOptions, error) {
	options := g.Options
	options.From, options.Existing, options.CertificatesOf = "", nil, nil
	o, err := g.Classes(ctx)
	if err != nil || !hasAdoption(o) {
		return ingress.Objects{}, options, err
	}
	o = o.Taken(ingress.ClassOptions{From: v1alpha1.AdoptALB})
	classes, _ := ingress.NewClassLookup(o, options)
	names := map[string]bool{}
	o.IngressClasses = slices.DeleteFunc(o.IngressClasses, func(c *networkingv1.IngressClass) bool {
		class := classes.Named(c.Name)
		names[c.Name] = class != nil && class.Adoption != nil
		return !names[c.Name]
	})
	if len(o.IngressClasses) == 0 {
		return ingress.Objects{}, options, nil
	}
	var list networkingv1.IngressList
	if err := g.Cache.List(ctx, &list); err != nil {
		return o, options, fmt.Errorf("listing Ingresses: %w", err)
	}
	for i := range list.Items {
		if slices.ContainsFunc(cluster.ClassesOfIngress(&list.Items[i]), func(name string) bool { return names[name] }) {
			o.Ingresses = append(o.Ingresses, &list.Items[i])
		}
	}
	o.Namespaces, err = g.namespaces(ctx, o.Ingresses)
	return o, options, err
}

func hasAdoption(o ingress.Objects) bool {
	for _, c := range o.ClusterLoadBalancerClasses {
		if c.Spec.Adoption != nil {
			return true
		}
	}
	return slices.ContainsFunc(o.LoadBalancerClasses, func(c *v1alpha1.LoadBalancerClass) bool { return c.Spec.Adoption != nil })
}

// AddNamed reads the objects to which Ingresses refer.
func (g *Gatherer) AddNamed(ctx context.Context, o *ingress.Objects) error {
	named := References{}
	for _, ing := range o.Ingresses {
		named.Add(ing.Namespace, ing.Annotations, &ing.Spec)
	}
	return g.named(ctx, named, o, func() {})
}
