package ingress

import (
	"cmp"
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides whether an Ingress is Fairlead's, by the class that it names or the class for
// Ingresses without one.

// ClassName returns the class that an Ingress names, or "". The annotation precedes the field.
func ClassName(ing *networkingv1.Ingress) string {
	return cmp.Or(ing.Annotations[settings.IngressClass], classField(ing))
}

func classField(ing *networkingv1.Ingress) string {
	if ing.Spec.IngressClassName == nil {
		return ""
	}
	return *ing.Spec.IngressClassName
}

// A Belonging holds whether an Ingress is ours. One of Class, Problem and NotOurs is set.
type Belonging struct {
	Asked   string            // the class that it names, or the class for Ingresses without one
	Class   *Class            // its class, if it is ours
	Problem *diag.Diagnostic  // the reason why its class cannot be used
	NotOurs *diag.Diagnostic  // the reason why it is not ours
	Found   []diag.Diagnostic // to report in any case
}

// Of returns whether an Ingress is ours. A remembered one was ours when its class was last read.
func (cs *ClassLookup) Of(ing *networkingv1.Ingress, remembered bool) Belonging {
	annotation, class := ing.Annotations[settings.IngressClass], classField(ing)
	source := sourceOfIngress(ing).At(field.NewPath("spec", "ingressClassName").String())
	switch {
	case annotation != "":
		b := cs.byAnnotation(ing, annotation, remembered)
		if class != "" && class != annotation && (b.Class != nil || cs.Named(class) != nil) {
			b.Found = append(b.Found, diag.Diagnostic{
				Severity: diag.Warning, Reason: diag.ClassConflict,
				Source: annotationSource(ing, settings.IngressClass),
				Message: fmt.Sprintf(
					"the annotation says %s, spec.ingressClassName says %s; the annotation decides",
					diag.Quote(annotation), diag.Quote(class)),
			})
		}
		return b
	case class != "":
		return cs.byName(class, source)
	case cs.standard != "" && ing.CreationTimestamp.IsZero():
		return cs.byName(cs.standard, source) // as admission will do, once the file is applied
	case cs.options.WithoutClass != "":
		b := cs.byName(cs.options.WithoutClass, sourceOfIngress(ing))
		for _, d := range []*diag.Diagnostic{b.Problem, b.NotOurs} {
			if d != nil {
				d.Message = fmt.Sprintf("it names no class, so class %s counts: %s", b.Asked, d.Message)
			}
		}
		return b
	}
	return Belonging{NotOurs: &diag.Diagnostic{Severity: diag.Info, Reason: diag.ClassUnset,
		Source: source, Message: "it names no class"}}
}

// byName looks up the IngressClass of a name.
func (cs *ClassLookup) byName(class string, at diag.Source) Belonging {
	b := Belonging{Asked: class, Class: cs.Named(class)}
	if b.Class != nil {
		return b
	}
	if controller, foreign := cs.foreign[class]; foreign {
		b.NotOurs = &diag.Diagnostic{
			Severity: diag.Info, Reason: diag.ClassForeign, Source: at,
			Message: fmt.Sprintf("IngressClass %s belongs to the controller %s", class, controller),
		}
		return b
	}
	d, broken := cs.broken[class]
	if !broken {
		d = classProblem(diag.ClassMissing, "there is no IngressClass %s", class)
	}
	d.Source = at
	b.Problem = &d
	return b
}

// byAnnotation looks up a name that, unlike the field, need not be an IngressClass: other
// controllers have other names. An unknown name is not ours, unless the Ingress is remembered.
func (cs *ClassLookup) byAnnotation(ing *networkingv1.Ingress, class string, remembered bool) Belonging {
	source := annotationSource(ing, settings.IngressClass)
	b := cs.byName(class, source)
	switch {
	case b.Class != nil || cs.exists(class):
	case class == cs.options.Literal && !cs.pinned:
		return Belonging{Asked: class, Class: &Class{Name: class}}
	case class == cs.options.Literal:
		b.Problem.Message += "; it had parameters, which the literal would not have"
	case !remembered && !cs.isOurName(class):
		return Belonging{Asked: class, NotOurs: &diag.Diagnostic{
			Severity: diag.Info, Reason: diag.ClassUnknown, Source: source,
			Message: fmt.Sprintf("there is no IngressClass %q, and another controller may go by that name",
				class),
		}}
	}
	return b
}

// isOurName reports whether a name means Fairlead, even without an IngressClass.
func (cs *ClassLookup) isOurName(class string) bool {
	return class == DefaultClass || class == cs.options.WithoutClass ||
		class == cs.options.ManagedClass || slices.Contains(cs.options.AssumeClasses, class)
}
