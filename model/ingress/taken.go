package ingress

import (
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// This file has IngressClasses of another controller be Fairlead's with a dialect, to see what they would be.

// ControllerOf returns the spec.controller of the IngressClasses of the controller that a dialect is of, and the
// name of the IngressClass that it ships.
func ControllerOf(name string) (controller, class string) {
	return frontEnds[name].controller, frontEnds[name].class
}

// takes reports whether the options have an IngressClass of another controller be Fairlead's.
func (o ClassOptions) takes(c *networkingv1.IngressClass) bool {
	switch {
	case c.Spec.Controller == ControllerName:
		return false
	case len(o.TakenClasses) > 0:
		return slices.Contains(o.TakenClasses, c.Name)
	}
	return c.Spec.Controller == frontEnds[o.From].controller
}

// Taken returns the objects in which the classes that options take are Fairlead's, with the dialect. One
// that is Fairlead's stays as it is, and so do all without a dialect.
func (o Objects) Taken(options ClassOptions) Objects {
	if _, known := frontEnds[options.From]; !known {
		return o
	}
	o.IngressClasses = slices.Clone(o.IngressClasses)
	o.Dialects = maps.Clone(o.Dialects)
	missing := slices.Clone(options.TakenClasses)
	for i, c := range o.IngressClasses {
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == c.Name })
		if options.takes(c) {
			o.IngressClasses[i] = o.take(c, options.From)
		}
	}
	for _, name := range missing {
		class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
		o.IngressClasses = append(o.IngressClasses, o.take(class, options.From))
	}
	return o
}

// take returns an IngressClass as one of Fairlead. The class has the dialect, and its parameters do not: they
// may be those of another class, too.
func (o *Objects) take(c *networkingv1.IngressClass, dialect string) *networkingv1.IngressClass {
	out := c.DeepCopy()
	out.Spec.Controller = ControllerName
	if out.Spec.Parameters == nil || !IsForeign(out.Spec.Parameters) {
		out.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group),
			Kind: v1alpha1.KindClusterLoadBalancerClass, Name: c.Name, Scope: new("Cluster")}
	}
	if o.Dialects == nil {
		o.Dialects = map[string]string{}
	}
	o.Dialects[c.Name] = dialect
	return out
}
