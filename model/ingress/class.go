package ingress

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/validate"
	"fairlead.dev/fairlead/model/memory"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides which Ingresses are ours, as the API means it: spec.ingressClassName names an
// IngressClass, whose spec.controller names us and whose spec.parameters is the class's spec. The
// annotation from before there were classes takes priority and means the same: the IngressClass of
// that name, with its parameters. No class is made up, unless Options.Literal says so.

// Controller is what the spec.controller of our IngressClasses says.
const Controller = "fairlead.dev/ingress"

// DefaultClass is what the IngressClass is called that Fairlead ships. An annotation that says so
// means Fairlead, even where no such class exists.
const DefaultClass = "fairlead"

// Options are the operator's settings that decide which Ingresses are ours.
type Options struct {
	// WithoutClass is the IngressClass, with its parameters, under which Ingresses are served that
	// name no class; "" leaves them alone.
	WithoutClass string
	// Literal is a name that the annotation may have though no IngressClass has it: it then stands for
	// a class without parameters. "" is none. Any IngressClass of that name decides over it, and so do
	// the parameters of one that are remembered.
	Literal string
	// ManagedClass is the IngressClass that the operator creates; "" is none. An annotation that names
	// it means Fairlead, even while the class is missing.
	ManagedClass string
	// AssumeClass is taken for a class of ours, without parameters, where no IngressClass of
	// that name is among the objects: files often hold Ingresses only.
	AssumeClass string
	// Providers are the names of the operator's providers, of which the first makes the load balancers
	// of classes that name none. Where none are given, a class may name any.
	Providers []string
	// Room is how many bytes what is remembered of the members of a load balancer may be; 0 is as many
	// as a LoadBalancer holds.
	Room int
}

// A Class is an IngressClass of ours with its parameters.
type Class struct {
	Name string
	v1alpha1.LoadBalancerClassSpec
}

// Grace is how long an Ingress that leaves a load balancer of the class is served by it.
func (c *Class) Grace() time.Duration {
	if c.MoveGrace != nil {
		return c.MoveGrace.Duration
	}
	return settings.DefaultMoveGrace
}

// Retains reports whether load balancers of the class are there still when nobody asks for them any
// more.
func (c *Class) Retains() bool { return c.DeletionPolicy == v1alpha1.DeletionPolicyRetain }

// Source is where diagnostics about a class point.
func (c *Class) Source() diag.Source { return diag.Source{Kind: "IngressClass", Name: c.Name} }

// classes are all IngressClasses, by what they are to us.
type classes struct {
	usable  map[string]*Class
	broken  map[string]diag.Diagnostic // ours, and what its Ingresses are told
	foreign map[string]string          // the controllers of the others
	// standard is the class that the API server gives to new Ingresses without one; or "".
	standard string
	// pinned says that parameters of an IngressClass are remembered that was called like the literal.
	pinned  bool
	options Options
}

func newClasses(o Objects, options Options) (*classes, []diag.Diagnostic) {
	cs := &classes{
		usable: map[string]*Class{}, broken: map[string]diag.Diagnostic{}, foreign: map[string]string{},
		pinned: pinned(o.Memories, options.Literal), options: options,
	}
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
		cs.foreign[c.Name] = c.Spec.Controller
		return nil
	}
	source := (&Class{Name: c.Name}).Source()
	if errs := validate.Class(c); len(errs) > 0 {
		cs.broken[c.Name] = classProblem(diag.ClassMissing, "IngressClass %s is invalid: %s", c.Name, errs.ToAggregate())
		return validate.Refusals(source, errs)
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
	if errs := append(validateClassSpec(spec, field.NewPath("spec")), cs.options.checkProvider(spec.ProviderName)...); len(errs) > 0 {
		cs.broken[c.Name] = classProblem(diag.ParametersMissing, "the parameters of IngressClass %s are invalid: %s", c.Name, errs.ToAggregate())
		return validate.Refusals(at, errs)
	}
	class := &Class{c.Name, *spec}
	if names := cs.options.Providers; len(names) > 0 && class.ProviderName == names[0] {
		class.ProviderName = "" // the same as if it named none: a class that begins to say so moves nothing
	}
	cs.usable[c.Name] = class
	return nil
}

// checkProvider returns an error for the name of a provider that the operator does not have.
func (o Options) checkProvider(name string) field.ErrorList {
	if name == "" || len(o.Providers) == 0 || slices.Contains(o.Providers, name) {
		return nil
	}
	return field.ErrorList{field.NotSupported(field.NewPath("spec", "providerName"), name, o.Providers)}
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

// pinned reports whether a load balancer is remembered that was served under parameters of a class.
func pinned(memories map[routing.Key]memory.LoadBalancer, class string) bool {
	for key, m := range memories {
		if class != "" && key.Class() == class && m.Class != nil && !equality.Semantic.DeepEqual(*m.Class, v1alpha1.LoadBalancerClassSpec{}) {
			return true
		}
	}
	return false
}

// named is the class of a name; nil if it is not ours, or not usable.
func (cs *classes) named(class string) *Class {
	if c := cs.usable[class]; c != nil {
		return c
	}
	if class != "" && class == cs.options.AssumeClass && !cs.exists(class) {
		return &Class{Name: class}
	}
	return nil
}

// exists reports whether there is an IngressClass of the name, whatever it is to us.
func (cs *classes) exists(class string) bool {
	_, broken := cs.broken[class]
	_, foreign := cs.foreign[class]
	return cs.usable[class] != nil || broken || foreign
}

// ClassName is the class that an Ingress names, in the way that decides; or "".
func ClassName(ing *networkingv1.Ingress) string {
	return cmp.Or(ing.Annotations[settings.IngressClass], classField(ing))
}

func classField(ing *networkingv1.Ingress) string {
	if ing.Spec.IngressClassName == nil {
		return ""
	}
	return *ing.Spec.IngressClassName
}

// FindClass is a class of ours by its name; nil if it is missing or cannot be used.
func FindClass(o Objects, options Options, name string) *Class {
	classes, _ := newClasses(o, options)
	return classes.named(name)
}

// A belonging says whether an Ingress is ours. One of class, lost and other is set.
type belonging struct {
	asked string            // the class that it names, or that counts for those that name none
	class *Class            // ours
	lost  *diag.Diagnostic  // it may be ours, but its class cannot be used, and why
	other *diag.Diagnostic  // it is not ours, and why
	found []diag.Diagnostic // worth telling in any case
}

// of finds out whether an Ingress is ours. One that is remembered was when its class was last seen.
func (cs *classes) of(ing *networkingv1.Ingress, remembered bool) belonging {
	annotation, class := ing.Annotations[settings.IngressClass], classField(ing)
	source := sourceOf(ing).At(field.NewPath("spec", "ingressClassName").String())
	switch {
	case annotation != "":
		b := cs.byAnnotation(ing, annotation, remembered)
		if class != "" && class != annotation && (b.class != nil || cs.named(class) != nil) {
			b.found = append(b.found, diag.Diagnostic{
				Severity: diag.Warning, Reason: diag.ClassConflict, Source: annotationSource(ing, settings.IngressClass),
				Message: fmt.Sprintf("the annotation says %s, spec.ingressClassName says %s; the annotation decides", diag.Quote(annotation), diag.Quote(class)),
			})
		}
		return b
	case class != "":
		return cs.byName(class, source)
	case cs.standard != "" && ing.CreationTimestamp.IsZero():
		return cs.byName(cs.standard, source) // as admission will, once the file is applied
	case cs.options.WithoutClass != "":
		b := cs.byName(cs.options.WithoutClass, sourceOf(ing))
		for _, d := range []*diag.Diagnostic{b.lost, b.other} {
			if d != nil {
				d.Message = fmt.Sprintf("it names no class, so class %s counts: %s", b.asked, d.Message)
			}
		}
		return b
	}
	return belonging{other: &diag.Diagnostic{Severity: diag.Info, Reason: diag.ClassUnset, Source: source, Message: "it names no class"}}
}

// byName looks up the IngressClass of a name.
func (cs *classes) byName(class string, at diag.Source) belonging {
	b := belonging{asked: class, class: cs.named(class)}
	if b.class != nil {
		return b
	}
	if controller, foreign := cs.foreign[class]; foreign {
		b.other = &diag.Diagnostic{
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
	b.lost = &d
	return b
}

// byAnnotation reads a name that, unlike the field, need not be that of an IngressClass: other
// controllers have names of their own, so one that is unknown here is left to them, unless the
// Ingress is remembered.
func (cs *classes) byAnnotation(ing *networkingv1.Ingress, class string, remembered bool) belonging {
	source := annotationSource(ing, settings.IngressClass)
	b := cs.byName(class, source)
	switch {
	case b.class != nil || cs.exists(class):
	case class == cs.options.Literal && !cs.pinned:
		return belonging{asked: class, class: &Class{Name: class}}
	case class == cs.options.Literal:
		b.lost.Message += "; it had parameters, which the literal would not have"
	case !remembered && !cs.isOurName(class):
		return belonging{asked: class, other: &diag.Diagnostic{
			Severity: diag.Info, Reason: diag.ClassUnknown, Source: source,
			Message: fmt.Sprintf("there is no IngressClass %q, and another controller may go by that name", class),
		}}
	}
	return b
}

// isOurName reports whether a name means Fairlead, even where no IngressClass has it.
func (cs *classes) isOurName(class string) bool {
	return class == DefaultClass || class == cs.options.WithoutClass || class == cs.options.ManagedClass || class == cs.options.AssumeClass
}

// hostMiss is the class's reading of a miss.
func (c *Class) hostMiss() routing.HostMiss {
	if c.HostMiss == v1alpha1.HostMissLessSpecific {
		return routing.MissFallsThrough
	}
	return routing.MissAnswers
}

// settings are what the class says of a whole load balancer. The scheme is part of its key.
func (c *Class) settings(scheme string) routing.Settings {
	return routing.Settings{Scheme: scheme, IPFamily: c.IPFamily, Attributes: c.Attributes, Tags: c.Tags, Provider: providerSettings(c.Provider)}
}

// port is what the class says of a single port.
func (c *Class) port(number int32) v1alpha1.PortSettings {
	at := slices.IndexFunc(c.Ports, func(p v1alpha1.PortSettings) bool { return p.Port == number })
	if at < 0 {
		return v1alpha1.PortSettings{}
	}
	return c.Ports[at]
}

// discovers reports whether the cloud is searched for certificates.
func (c *Class) discovers() bool { return c.CertificateDiscovery == nil || *c.CertificateDiscovery }
