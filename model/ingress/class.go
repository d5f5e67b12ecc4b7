package ingress

import (
	"cmp"
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
)

// This file decides which Ingresses are ours, as the API means it: spec.ingressClassName names an
// IngressClass, whose spec.controller names us and whose spec.parameters is the class's spec. The
// annotation from before there were classes still works and takes priority.

// Controller is what the spec.controller of our IngressClasses says.
const Controller = "fairlead.dev/ingress"

// classLiteral is what the legacy annotation may say where no IngressClass has that name.
const classLiteral = "fairlead"

// Options are the choices of whoever runs the compiler.
type Options struct {
	// WithoutClass adopts Ingresses that name no class, as if they named the class "fairlead".
	WithoutClass bool
	// AssumeClass is taken for a class of ours, without parameters, where no IngressClass of
	// that name is among the objects: files often hold Ingresses only.
	AssumeClass string
}

// A Class is an IngressClass of ours with its parameters.
type Class struct {
	Name string
	v1alpha1.LoadBalancerClassSpec
}

// Source is where diagnostics about a class point.
func (c *Class) Source() diag.Source { return diag.Source{Kind: "IngressClass", Name: c.Name} }

// classes are all IngressClasses, by what they are to us.
type classes struct {
	usable  map[string]*Class
	broken  map[string]diag.Diagnostic // ours, and what its Ingresses are told
	foreign map[string]bool
	// standard is the class that the API server gives to new Ingresses without one; or "".
	standard string
	options  Options
}

func newClasses(o Objects, options Options) (*classes, []diag.Diagnostic) {
	cs := &classes{usable: map[string]*Class{}, broken: map[string]diag.Diagnostic{}, foreign: map[string]bool{}, options: options}
	var found []diag.Diagnostic
	from := newParameters(o)
	for _, c := range o.IngressClasses {
		found = append(found, cs.add(c, from)...)
	}
	cs.standard = standardClass(o.IngressClasses)
	return cs, found
}

func (cs *classes) add(c *networkingv1.IngressClass, from parameters) []diag.Diagnostic {
	if c.Spec.Controller != Controller {
		cs.foreign[c.Name] = true
		return nil
	}
	source := (&Class{Name: c.Name}).Source()
	if errs := ValidateClass(c); len(errs) > 0 {
		cs.broken[c.Name] = classProblem(diag.ClassMissing, "IngressClass %s is invalid: %s", c.Name, errs.ToAggregate())
		return refusals(source, errs)
	}
	if c.Spec.Parameters == nil {
		cs.usable[c.Name] = &Class{Name: c.Name}
		return nil
	}
	spec, at, err := from.find(c.Spec.Parameters, field.NewPath("spec", "parameters"))
	if err != nil {
		d := classProblem(diag.ParametersMissing, "the parameters of IngressClass %s: %s", c.Name, err.ErrorBody())
		cs.broken[c.Name] = d
		d.Source = source.At(err.Field)
		return []diag.Diagnostic{d}
	}
	if errs := validateClassSpec(spec, field.NewPath("spec")); len(errs) > 0 {
		cs.broken[c.Name] = classProblem(diag.ParametersMissing, "the parameters of IngressClass %s are invalid: %s", c.Name, errs.ToAggregate())
		return refusals(at, errs)
	}
	cs.usable[c.Name] = &Class{c.Name, *spec}
	return nil
}

func classProblem(reason diag.Reason, format string, args ...any) diag.Diagnostic {
	return diag.Diagnostic{Severity: diag.Error, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// standardClass is the class that admission gives to a new Ingress without one: of those that are
// marked as default the newest, and of several of one age the first by name.
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

// named is the class of a name; nil if it is not ours, or not usable.
func (cs *classes) named(class string) *Class {
	if c := cs.usable[class]; c != nil {
		return c
	}
	_, broken := cs.broken[class]
	if !broken && !cs.foreign[class] && class != "" && class == cs.options.AssumeClass {
		return &Class{Name: class}
	}
	return nil
}

// ClassName is the class that an Ingress names, in the way that decides; or "".
func ClassName(ing *networkingv1.Ingress) string {
	if annotation := ing.Annotations[classAnnotation]; annotation != "" {
		return annotation
	}
	if ing.Spec.IngressClassName != nil {
		return *ing.Spec.IngressClassName
	}
	return ""
}

// NamesClass reports whether an Ingress asks for a class; one that names none asks for the literal one.
func NamesClass(ing *networkingv1.Ingress, class string) bool {
	return cmp.Or(ClassName(ing), classLiteral) == class
}

// FindClass is a class of ours by its name; nil if it is missing or cannot be used.
func FindClass(o Objects, options Options, name string) *Class {
	classes, _ := newClasses(o, options)
	return classes.named(name)
}

// A belonging says whose an Ingress is.
type belonging struct {
	class *Class            // ours
	lost  []diag.Diagnostic // it may be ours, but its class cannot be used, and why
	found []diag.Diagnostic // worth telling in any case
}

// of finds out whose an Ingress is. One that is remembered was ours when its class was last seen.
func (cs *classes) of(ing *networkingv1.Ingress, remembered bool) belonging {
	annotation, class := ing.Annotations[classAnnotation], ""
	if ing.Spec.IngressClassName != nil {
		class = *ing.Spec.IngressClassName
	}
	switch {
	case annotation != "":
		b := cs.byAnnotation(ing, annotation, remembered)
		if class != "" && class != annotation && (b.class != nil || cs.named(class) != nil) {
			b.found = append(b.found, diag.Diagnostic{
				Severity: diag.Warning, Reason: diag.ClassConflict, Source: annotationSource(ing, classAnnotation),
				Message: fmt.Sprintf("the annotation says %q, spec.ingressClassName says %q; the annotation decides", annotation, class),
			})
		}
		return b
	case class != "":
		return cs.byField(ing, class)
	case cs.standard != "" && ing.CreationTimestamp.IsZero():
		return cs.byField(ing, cs.standard) // as admission will, once the file is applied
	case cs.options.WithoutClass && cs.literal() == nil:
		return belonging{lost: cs.lost(sourceOf(ing), classLiteral)}
	case cs.options.WithoutClass:
		return belonging{class: cs.literal()}
	}
	return belonging{}
}

func (cs *classes) byField(ing *networkingv1.Ingress, class string) belonging {
	if c := cs.named(class); c != nil || cs.foreign[class] {
		return belonging{class: c}
	}
	source := sourceOf(ing).At(field.NewPath("spec", "ingressClassName").String())
	return belonging{lost: cs.lost(source, class)}
}

// byAnnotation reads a name that, unlike the field, need not be that of an IngressClass: one that
// we do not know is some other controller's, unless we have served the Ingress before.
func (cs *classes) byAnnotation(ing *networkingv1.Ingress, class string, remembered bool) belonging {
	c := cs.named(class)
	_, broken := cs.broken[class]
	switch {
	case c != nil || cs.foreign[class]:
		return belonging{class: c}
	case broken || remembered && class != classLiteral:
		return belonging{lost: cs.lost(annotationSource(ing, classAnnotation), class)}
	case class == classLiteral:
		return belonging{class: cs.literal()}
	}
	return belonging{}
}

// literal is the class "fairlead", whether or not there is one. One of ours that is broken is nil.
func (cs *classes) literal() *Class {
	if c := cs.named(classLiteral); c != nil {
		return c
	}
	if _, broken := cs.broken[classLiteral]; broken {
		return nil
	}
	return &Class{Name: classLiteral}
}

// lost tells the Ingresses of a class that cannot be used.
func (cs *classes) lost(source diag.Source, class string) []diag.Diagnostic {
	d, broken := cs.broken[class]
	if !broken {
		d = classProblem(diag.ClassMissing, "there is no IngressClass %s", class)
	}
	d.Source = source
	return []diag.Diagnostic{d}
}
