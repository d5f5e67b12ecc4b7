package ingress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/ingress/validate"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
)

// This file sorts IngressClasses into usable ones of Fairlead, broken ones of Fairlead, and those
// of other controllers.

// A ClassLookup holds all IngressClasses: usable, broken, and of other controllers.
type ClassLookup struct {
	usable  map[string]*Class
	broken  map[string]diag.Diagnostic // with the diagnostic for their Ingresses
	foreign map[string]string          // their controllers
	// standard is the class that the API server gives to new Ingresses without one; or "".
	standard string
	// pinned is true if a load balancer is recorded under the literal's name with parameters.
	pinned  bool
	options ClassOptions
}

// NewClassLookup returns the classes among the objects, and diagnostics about broken ones.
func NewClassLookup(o Objects, options ClassOptions) (*ClassLookup, []diag.Diagnostic) {
	o = o.Taken(options)
	cs := &ClassLookup{
		usable: map[string]*Class{}, broken: map[string]diag.Diagnostic{}, foreign: map[string]string{},
		pinned: pinned(o.Records, options.Literal), options: options,
	}
	var found []diag.Diagnostic
	from := newParameters(o)
	for _, c := range o.IngressClasses {
		found = append(found, cs.add(c, from)...)
	}
	cs.standard = standardClass(o.IngressClasses)
	return cs, found
}

func (cs *ClassLookup) add(c *networkingv1.IngressClass, from parameters) []diag.Diagnostic {
	if c.Spec.Controller != ControllerName {
		if slices.Contains(cs.options.TakenClasses, c.Name) {
			cs.usable[c.Name] = &Class{Name: c.Name}
			return takenOver(c)
		}
		cs.foreign[c.Name] = c.Spec.Controller
		return nil
	}
	source := (&Class{Name: c.Name}).Source()
	errs := cs.options.check(c, func() field.ErrorList { return validate.Class(c) })
	if len(errs) > 0 {
		cs.broken[c.Name] = classProblem(diag.ClassMissing, "IngressClass %s is invalid: %s", c.Name,
			errs.ToAggregate())
		return validate.Refusals(source, errs)
	}
	if c.Spec.Parameters == nil {
		cs.usable[c.Name] = &Class{Name: c.Name}
		return nil
	}
	object, spec, beside, err := from.of(c)
	if err != nil {
		d := classProblem(diag.ParametersMissing, "the parameters of IngressClass %s: %s", c.Name,
			err.ErrorBody())
		cs.broken[c.Name] = d
		d.Source = source.At(err.Field)
		return []diag.Diagnostic{d}
	}
	check := func() field.ErrorList {
		return append(validateSpec(spec, field.NewPath("spec")),
			cs.options.checkProvider(spec.ProviderName)...)
	}
	if object != nil {
		errs = cs.options.check(object, check)
	}
	if len(errs) > 0 {
		cs.broken[c.Name] = classProblem(diag.ParametersMissing,
			"the parameters of IngressClass %s are invalid: %s", c.Name, errs.ToAggregate())
		at := sourceOf(c.Spec.Parameters)
		if IsForeign(c.Spec.Parameters) {
			at = diag.Source{Kind: v1alpha1.KindClusterLoadBalancerClass, Name: object.GetName()}
		}
		return validate.Refusals(at, errs)
	}
	class := &Class{Name: c.Name, LoadBalancerClassSpec: *spec}
	var found []diag.Diagnostic
	if beside != nil {
		class.LoadBalancerClassSpec, class.Beside = beside.Apply(*spec)
		spec = &class.LoadBalancerClassSpec
		found = tellParameters(diag.Source{Kind: alb.ParamsKind, Name: beside.Name}, class.Beside)
		for _, e := range check() { // of both together, which no version of one stands for
			found = append(found, diag.Diagnostic{Severity: diag.Error, Reason: diag.ParametersForeign,
				Source:  diag.Source{Kind: alb.ParamsKind, Name: beside.Name},
				Message: "with the class, " + e.Error()})
		}
	}
	if at := slices.IndexFunc(found, func(d diag.Diagnostic) bool { return d.Severity == diag.Error }); at >= 0 {
		cs.broken[c.Name] = classProblem(diag.ParametersForeign, "the parameters of IngressClass %s cannot be followed: "+
			"%s: %s", c.Name, found[at].Source, found[at].Message)
		return found
	}
	if names := cs.options.Providers; len(names) > 0 && class.ProviderName == names[0] {
		// Naming the first provider is the same as naming none, so it must not move Ingresses.
		class.ProviderName = ""
	}
	cs.usable[c.Name] = class.withDialect()
	return found
}

// takenOver returns what a class of another controller loses that is taken for ours: its parameters,
// which may restrict clients, as inboundCIDRs of an IngressClassParams do:
// https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/guide/ingress/ingress_class/
func takenOver(c *networkingv1.IngressClass) []diag.Diagnostic {
	if c.Spec.Parameters == nil {
		return nil
	}
	return []diag.Diagnostic{{
		Severity: diag.Warning, Reason: diag.ClassForeign,
		Source: (&Class{Name: c.Name}).Source().At("spec.parameters"),
		Message: fmt.Sprintf("the class belongs to the controller %s and is taken for Fairlead's, without "+
			"its %s %s, which may set the scheme, certificates, groups, and the clients that may connect: "+
			"write them into a LoadBalancerClass", c.Spec.Controller, c.Spec.Parameters.Kind,
			c.Spec.Parameters.Name),
	}}
}

// check validates an object, through Options.Check if it is set.
func (o ClassOptions) check(of metav1.Object, check func() field.ErrorList) field.ErrorList {
	if o.Check == nil {
		return check()
	}
	return o.Check(of, check)
}

// checkProvider returns an error for the name of a provider that the operator does not have.
func (o ClassOptions) checkProvider(name string) field.ErrorList {
	if name == "" || len(o.Providers) == 0 || slices.Contains(o.Providers, name) {
		return nil
	}
	return field.ErrorList{field.NotSupported(field.NewPath("spec", "providerName"), name,
		o.Providers)}
}

func classProblem(reason diag.Reason, format string, args ...any) diag.Diagnostic {
	return diag.Diagnostic{Severity: diag.Error, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// standardClass returns the class that admission gives to a new Ingress without one: the newest of
// the default classes, and among equally old ones the first by name.
func standardClass(all []*networkingv1.IngressClass) string {
	var marked []*networkingv1.IngressClass
	for _, c := range all {
		if c.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true" {
			marked = append(marked, c)
		}
	}
	if len(marked) == 0 {
		return ""
	}
	return slices.MinFunc(marked, func(a, b *networkingv1.IngressClass) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	}).Name
}

// pinned reports whether a load balancer is recorded under a class with parameters.
func pinned(records map[routing.Key]record.Record, class string) bool {
	for key, m := range records {
		if class != "" && key.Class() == class && m.Class != nil &&
			!equality.Semantic.DeepEqual(*m.Class, v1alpha1.LoadBalancerClassSpec{}) {
			return true
		}
	}
	return false
}

// Named returns the class of a name; nil if it is not ours, or not usable.
func (cs *ClassLookup) Named(class string) *Class {
	if c := cs.usable[class]; c != nil {
		return c
	}
	if slices.Contains(cs.options.AssumeClasses, class) && !cs.exists(class) {
		return &Class{Name: class}
	}
	return nil
}

// Usable returns all usable classes of ours, by name.
func (cs *ClassLookup) Usable() []*Class {
	var out []*Class
	for _, name := range slices.Sorted(maps.Keys(cs.usable)) {
		out = append(out, cs.usable[name])
	}
	return out
}

// exists reports whether there is any IngressClass of the name.
func (cs *ClassLookup) exists(class string) bool {
	_, broken := cs.broken[class]
	_, foreign := cs.foreign[class]
	return cs.usable[class] != nil || broken || foreign
}

// FindClass returns a class of ours by its name; nil if it is missing or not usable.
func FindClass(o Objects, options ClassOptions, name string) *Class {
	classes, _ := NewClassLookup(o, options)
	return classes.Named(name)
}
