package ingress

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
)

// This file finds the parameters of a class. A class without readable parameters is not used, since
// its restrictions would be missing.

// parameters are the objects that an IngressClass can refer to.
type parameters struct {
	namespaced map[Name]*v1alpha1.LoadBalancerClass
	cluster    map[Name]*v1alpha1.ClusterLoadBalancerClass
	foreign    map[Name]*alb.IngressClassParams
	dialects   map[string]string // of classes that are taken
}

func newParameters(o Objects) parameters {
	return parameters{byName(o.LoadBalancerClasses),
		byName(o.ClusterLoadBalancerClasses), byName(o.IngressClassParams), o.Dialects}
}

// IsForeign reports whether a reference names an object of the controller of a dialect.
func IsForeign(ref *networkingv1.IngressClassParametersReference) bool {
	return ref.APIGroup != nil && *ref.APIGroup == alb.ParamsVersion.Group && ref.Kind == alb.ParamsKind
}

// of returns the parameters of a class: those that it refers to and, with a dialect, those of the other
// kind that have the name of the class. Where it refers to an IngressClassParams, a
// ClusterLoadBalancerClass of that name will do, so that several classes can share both; without one, the
// object is nil.
func (p parameters) of(c *networkingv1.IngressClass) (object metav1.Object, spec *v1alpha1.LoadBalancerClassSpec,
	beside *alb.IngressClassParams, err *field.Error) {
	at, name := field.NewPath("spec", "parameters"), Name{Name: c.Name}
	ref := c.Spec.Parameters
	taken := p.dialects[c.Name]
	if !IsForeign(ref) {
		if taken != "" {
			object, spec = p.ofTaken(name, taken)
			return object, spec, p.foreign[name], nil
		}
		if object, spec, err = p.find(ref, at); err == nil && spec.Dialect == v1alpha1.DialectALB {
			beside = p.foreign[name]
		}
		return object, spec, beside, err
	}
	if ref.Namespace != nil {
		return nil, nil, nil, field.Forbidden(at.Child("namespace"),
			"an IngressClassParams is in no namespace: set `parameters.scope` to 'Cluster'")
	}
	if beside = p.foreign[Name{Name: ref.Name}]; beside == nil {
		return nil, nil, nil, field.NotFound(at, sourceOf(ref).String())
	}
	own := p.cluster[name]
	if own == nil {
		name = Name{Name: ref.Name}
		own = p.cluster[name]
	}
	switch {
	case taken != "":
		object, spec = p.ofTaken(name, taken)
		return object, spec, beside, nil
	case own == nil:
		return nil, &v1alpha1.LoadBalancerClassSpec{Dialect: v1alpha1.DialectALB}, beside, nil
	case own.Spec.Dialect != v1alpha1.DialectALB:
		return nil, nil, nil, field.Invalid(at, sourceOf(ref).String(),
			"the ClusterLoadBalancerClass "+own.Name+" does not read it: set its `dialect` to 'alb'")
	}
	return own, &own.Spec, beside, nil
}

// ofTaken returns the ClusterLoadBalancerClass of the name of a class that is taken, and its spec with the
// dialect of the class. Without such an object, it is nil.
func (p parameters) ofTaken(name Name, dialect string) (object metav1.Object, spec *v1alpha1.LoadBalancerClassSpec) {
	spec = &v1alpha1.LoadBalancerClassSpec{}
	if own := p.cluster[name]; own != nil {
		object, spec = own, own.Spec.DeepCopy()
	}
	spec.Dialect = dialect
	return object, spec
}

// find returns the object that a class refers to, and its spec, or the error in the reference.
func (p parameters) find(ref *networkingv1.IngressClassParametersReference,
	at *field.Path) (metav1.Object, *v1alpha1.LoadBalancerClassSpec, *field.Error) {
	kinds := []string{v1alpha1.KindClusterLoadBalancerClass, v1alpha1.KindLoadBalancerClass}
	switch {
	case ref.APIGroup == nil || *ref.APIGroup != v1alpha1.Group:
		return nil, nil, field.NotSupported(at.Child("apiGroup"), ref.APIGroup,
			[]string{v1alpha1.Group})
	case !slices.Contains(kinds, ref.Kind):
		return nil, nil, field.NotSupported(at.Child("kind"), ref.Kind, kinds)
	case ref.Kind == v1alpha1.KindLoadBalancerClass && ref.Namespace == nil:
		return nil, nil, field.Required(at.Child("namespace"),
			"a LoadBalancerClass is in a namespace: set `parameters.scope` to 'Namespace'")
	case ref.Kind == v1alpha1.KindClusterLoadBalancerClass && ref.Namespace != nil:
		return nil, nil, field.Forbidden(at.Child("namespace"),
			"a ClusterLoadBalancerClass is in no namespace: set `parameters.scope` to 'Cluster'")
	}
	source := sourceOf(ref)
	n := Name{Namespace: source.Namespace, Name: source.Name}
	if c := p.namespaced[n]; c != nil && ref.Kind == v1alpha1.KindLoadBalancerClass {
		return c, &c.Spec, nil
	}
	if c := p.cluster[n]; c != nil && ref.Kind == v1alpha1.KindClusterLoadBalancerClass {
		return c, &c.Spec, nil
	}
	return nil, nil, field.NotFound(at, source.String())
}

// sourceOf returns the object that a reference names, as the source of diagnostics.
func sourceOf(ref *networkingv1.IngressClassParametersReference) diag.Source {
	source := diag.Source{Kind: ref.Kind, Name: ref.Name}
	if ref.Namespace != nil {
		source.Namespace = *ref.Namespace
	}
	return source
}
