package ingress

import (
	"cmp"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/ingress/dialect/nginx"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file reads Ingresses of classes with a dialect: as what their authors would have written for
// Fairlead. Members, records and all later stages have that form. Diagnostics name the author's own
// annotations and fields.

// formers returns what is served of an Ingress if it is refused.
type formers = func(*networkingv1.Ingress) nginx.Former

// A frontEnd reads a dialect.
type frontEnd struct {
	controller string // of IngressClasses
	class      string // that the controller's chart makes
	prefix     string // of annotations that it reads
	defaults   func(v1alpha1.LoadBalancerClassSpec) v1alpha1.LoadBalancerClassSpec
	read       func(dialect.Input) dialect.Reading
	service    func(*corev1.Service, *dialect.Parameters) (own map[string]string, found []dialect.Verdict)
	// world returns what all Ingresses of a class mean together; nil if each stands for itself.
	world func(all []*networkingv1.Ingress, c *Class, called string, kept formers, memory nginx.Memory) any
	// closesHTTP is set if hosts of spec.tls are redirected to HTTPS also while their certificate is missing.
	closesHTTP bool
	// allCertificates is set if listeners have all certificates that the cloud has for a host, and not the best one alone.
	allCertificates bool
	// agreesOnOrigins is set if a listener sends headers for other origins only if all of its Ingresses ask for them.
	agreesOnOrigins bool
}

var frontEnds = map[string]frontEnd{
	v1alpha1.DialectALB: {controller: alb.Controller, class: alb.DefaultClass, prefix: alb.Prefix, defaults: alb.Defaults,
		read: alb.Read, service: alb.ReadService, allCertificates: true},
	v1alpha1.DialectNGINX: {controller: nginx.Controller, class: nginx.DefaultClass, prefix: nginx.Prefix,
		defaults: nginx.Defaults, closesHTTP: true, agreesOnOrigins: true,
		read: func(in dialect.Input) dialect.Reading { return in.World.(*nginx.World).Read(in) },
		service: func(*corev1.Service, *dialect.Parameters) (map[string]string, []dialect.Verdict) {
			return map[string]string{}, nil
		},
		world: func(all []*networkingv1.Ingress, c *Class, called string, kept formers, memory nginx.Memory) any {
			config := nginx.ConfigOf(&c.LoadBalancerClassSpec)
			config.LoadBalancer = called
			return nginx.NewWorld(all, config, &c.LoadBalancerClassSpec,
				func(_, secret string, otherwise []string) []string { return otherwise }, kept, memory)
		}},
}

// withDialect returns the class with the defaults of its dialect.
func (c *Class) withDialect() *Class {
	if f, known := frontEnds[c.Dialect]; known {
		c.LoadBalancerClassSpec = f.defaults(c.LoadBalancerClassSpec)
	}
	return c
}

// tellParameters returns what becomes of fields of an object beside the class.
func tellParameters(source diag.Source, beside *dialect.Parameters) (out []diag.Diagnostic) {
	for _, v := range beside.Verdicts {
		if v.Message != "" {
			out = append(out, diag.Diagnostic{Severity: severityOf(v), Reason: diag.ParametersForeign,
				Source: source.At(v.Key), Message: v.Message})
		}
	}
	return out
}

// read returns an Ingress in the form in which it is compiled.
func (s *placement) read(ing *networkingv1.Ingress) *networkingv1.Ingress {
	_, recorded := s.memberships[nameOf(ing).String()]
	whose := s.classes.Of(ing, recorded)
	if whose.Class == nil {
		return ing
	}
	f, known := frontEnds[whose.Class.Dialect]
	if !known {
		return ing
	}
	in := dialect.Input{
		World: s.worldOf(ing, whose.Class, f), Ingress: ing, Class: &whose.Class.LoadBalancerClassSpec, Parameters: whose.Class.Beside,
		Service: func(name string) *corev1.Service {
			return s.Services[Name{Namespace: ing.Namespace, Name: name}]
		},
	}
	if in.World == nil {
		in.Beside = slices.DeleteFunc(slices.Clone(s.beside[ing.Namespace]), func(o *networkingv1.Ingress) bool {
			return o == ing || !o.DeletionTimestamp.IsZero() || ClassName(o) != ClassName(ing)
		})
		if len(whose.Class.Groups) > 0 {
			in.Everywhere = s.ofClass(ClassName(ing))
		}
	}
	reading := f.read(in)
	reading.Of = ing
	s.readings[nameOf(ing)] = &reading
	s.authors[reading.Ingress] = ing
	return reading.Ingress
}

// ofClass returns all Ingresses of a class, oldest first.
func (s *placement) ofClass(name string) []*networkingv1.Ingress {
	if all, known := s.everywhere[name]; known {
		return all
	}
	var all []*networkingv1.Ingress
	for _, those := range s.beside {
		for _, o := range those {
			if o.DeletionTimestamp.IsZero() && ClassName(o) == name {
				all = append(all, o)
			}
		}
	}
	slices.SortFunc(all, older)
	s.everywhere[name] = all
	return all
}

// worldOf returns what the Ingresses of a class mean together: those of the Ingress's namespace or, where every namespace may serve
// every host, of all.
func (s *placement) worldOf(ing *networkingv1.Ingress, c *Class, f frontEnd) any {
	if f.world == nil {
		return nil
	}
	name, namespace := ClassName(ing), ing.Namespace
	if len(c.Groups) > 0 && c.Hosts == v1alpha1.HostsShared {
		namespace = ""
	}
	key := name + " " + namespace
	if world, known := s.worlds[key]; known {
		return world
	}
	all := s.ofClass(name)
	if namespace != "" {
		all = slices.DeleteFunc(slices.Clone(s.beside[namespace]), func(o *networkingv1.Ingress) bool {
			return !o.DeletionTimestamp.IsZero() || ClassName(o) != name
		})
	}
	kept := func(ing *networkingv1.Ingress) nginx.Former {
		all := s.memberships[nameOf(ing).String()]
		at := slices.IndexFunc(all, func(m record.Membership) bool { return m.LastAccepted != nil })
		if at < 0 {
			return nginx.Former{}
		}
		said := all[at].LastAccepted.Annotations
		return nginx.Former{Served: true, ListenerAttributes: said[settings.ListenerAttributes], Group: said[settings.Group],
			Scheme: said[settings.Scheme], LoadBalancerName: said[settings.LoadBalancerName]}
	}
	s.worlds[key] = s.kept.world(key, all, c, kept, func() any {
		return f.world(all, c, s.classes.options.called(c.ProviderName), kept, s.nginx)
	})
	return s.worlds[key]
}

// Once returns the options for a program that places the same objects several times, and ends: it keeps what Ingresses mean
// together, and no memory of parts of it.
func (o ClassOptions) Once() ClassOptions {
	o.NGINX, o.Worlds = nil, &KeptWorlds{}
	return o
}

// KeptWorlds keeps what Ingresses mean together for the next placement of the same objects. It serves one placement at a time.
type KeptWorlds struct{ kept map[string]keptWorld }

// A keptWorld is what Ingresses meant together, with all that this was made of.
type keptWorld struct {
	all   []*networkingv1.Ingress
	kept  []nginx.Former
	class v1alpha1.LoadBalancerClassSpec
	world any
}

// world returns what was kept under a key if it was made of the same, or makes it.
func (w *KeptWorlds) world(key string, all []*networkingv1.Ingress, c *Class, kept formers, made func() any) any {
	if w == nil {
		return made()
	}
	now := keptWorld{all: all, class: *c.LoadBalancerClassSpec.DeepCopy()}
	for _, ing := range all {
		now.kept = append(now.kept, kept(ing))
	}
	was, known := w.kept[key]
	if known && slices.Equal(was.all, now.all) && slices.Equal(was.kept, now.kept) && reflect.DeepEqual(was.class, now.class) {
		return was.world
	}
	now.world = made()
	if w.kept == nil {
		w.kept = map[string]keptWorld{}
	}
	w.kept[key] = now
	return now.world
}

// Worlds returns what the Ingresses of classes for ingress-nginx mean together.
func Worlds(o Objects, options ClassOptions) (out []*nginx.World) {
	s := readAll(o, options)
	for _, key := range slices.Sorted(maps.Keys(s.worlds)) {
		if w, is := s.worlds[key].(*nginx.World); is {
			out = append(out, w)
		}
	}
	return out
}

// author returns the object of an Ingress that was read.
func (s *placement) author(ing *networkingv1.Ingress) *networkingv1.Ingress {
	if object, known := s.authors[ing]; known {
		return object
	}
	return ing
}

// tellReading returns what becomes of annotations and fields that Fairlead does not follow to the
// letter.
func (s *placement) tellReading(ing *networkingv1.Ingress) (out []diag.Diagnostic) {
	reading := s.readings[nameOf(ing)]
	if reading == nil {
		return nil
	}
	return tellVerdicts(ing, reading, func(v dialect.Verdict) bool {
		return v.Outcome != dialect.Refused || !v.DueToOthers()
	})
}

// tellRefusedForOthers returns the refusals of a member that other objects lead to. Its place is found
// without these objects, so they refuse its changes, as annotations of Services do.
func tellRefusedForOthers(s Snapshot, m Member) []diag.Diagnostic {
	reading := s.Readings[nameOf(m.Ingress)]
	if reading == nil || reading.Ingress != m.Ingress {
		return nil
	}
	return tellVerdicts(m.Ingress, reading, func(v dialect.Verdict) bool {
		return v.Outcome == dialect.Refused && v.DueToOthers()
	})
}

// severityOf returns the severity of the diagnostic about a verdict.
func severityOf(v dialect.Verdict) diag.Severity {
	switch v.Outcome {
	case dialect.Refused:
		return diag.Error
	case dialect.Same:
		return diag.Info
	}
	return diag.Warning
}

// tellVerdicts returns a diagnostic for each verdict that has something to say.
func tellVerdicts(ing *networkingv1.Ingress, reading *dialect.Reading,
	which func(dialect.Verdict) bool) (out []diag.Diagnostic) {
	for _, v := range reading.Verdicts {
		if v.Message == "" || !which(v) {
			continue
		}
		d := diag.Diagnostic{Severity: severityOf(v), Reason: diag.AnnotationForeign, Source: sourceOfIngress(ing),
			Message: v.Message}
		switch {
		case v.Service != "":
			d.Message = v.Key + " of Service " + v.Service + ": " + v.Message
		case strings.Contains(v.Key, "/"):
			d.Source = annotationSource(ing, v.Key)
		default:
			d.Source = d.Source.At(v.Key)
		}
		if v.Request.URL != "" && (v.Outcome == dialect.Changed || v.Before != "") {
			d.Message += ": try " + v.Request.Curl()
		}
		out = append(out, d)
	}
	return out
}

// readServices returns Services with their annotations as the dialect of the class reads them.
func (c *Class) readServices(all []*corev1.Service) []*corev1.Service {
	f, known := frontEnds[c.Dialect]
	if !known {
		return all
	}
	out := slices.Clone(all)
	for i, s := range all {
		own, _ := f.service(s, c.Beside)
		others := maps.Clone(s.Annotations)
		maps.DeleteFunc(others, func(key, _ string) bool { return strings.HasPrefix(key, f.prefix) })
		if len(others) == len(s.Annotations) {
			continue
		}
		short := *s
		maps.Copy(own, others)
		short.Annotations = own
		out[i] = &short
	}
	return out
}

// atAuthors returns a source with the author's own field.
func (s *Snapshot) atAuthors(at diag.Source) diag.Source {
	reading := s.Readings[Name{Namespace: at.Namespace, Name: at.Name}]
	if reading == nil || at.Kind != "Ingress" {
		return at
	}
	return at.At(reading.Author(at.Field))
}

// nameAuthors has the sources of a translation name the fields of the authors.
func (s *Snapshot) nameAuthors(c *routing.Config, found []diag.Diagnostic) {
	if len(s.Readings) == 0 {
		return
	}
	for i := range c.Routes {
		c.Routes[i].Source = s.atAuthors(c.Routes[i].Source)
	}
	for i := range c.Names {
		c.Names[i].Source = s.atAuthors(c.Names[i].Source)
	}
	for i := range c.Defaults {
		c.Defaults[i].Source = s.atAuthors(c.Defaults[i].Source)
	}
	for i, d := range found {
		found[i] = inAuthorsWords(s.Readings[Name{Namespace: d.Source.Namespace, Name: d.Source.Name}], d)
	}
}

// ownAnnotation matches an annotation of Fairlead.
var ownAnnotation = regexp.MustCompile(regexp.QuoteMeta(settings.Prefix) + `[a-z0-9-]+`)

// inAuthorsWords returns a diagnostic about an Ingress that was read in a dialect with the annotations and
// fields that its author wrote. Of what several of them make together, it says how they are read, since the
// message may count in it.
func inAuthorsWords(reading *dialect.Reading, d diag.Diagnostic) diag.Diagnostic {
	if reading == nil || d.Source.Kind != "Ingress" {
		return d
	}
	d.Message = ownAnnotation.ReplaceAllStringFunc(d.Message, func(own string) string {
		return cmp.Or(reading.Origins[own], own)
	})
	if at := reading.Author(d.Source.Field); at != d.Source.Field {
		if own := ownAnnotation.FindString(d.Source.Field); strings.HasSuffix(reading.Origins[own], "*") {
			d.Message += " (written as " + own + ")"
		}
		d.Source = d.Source.At(at)
	}
	return d
}

// ReadAs returns an Ingress in the form in which it is compiled and recorded.
func ReadAs(o Objects, options ClassOptions, ing *networkingv1.Ingress) *networkingv1.Ingress {
	return newPlacement(o, options).read(ing)
}

// Readings returns what Ingresses of classes with a dialect are read as, also of those that are
// refused.
func Readings(o Objects, options ClassOptions) map[Name]*dialect.Reading {
	return readAll(o, options).readings
}

// ReadingsWithClasses is like Readings, and counts classes of requests.
func ReadingsWithClasses(o Objects, options ClassOptions) map[Name]*dialect.Reading {
	s := readAll(o, options)
	for _, world := range s.worlds {
		if w, is := world.(*nginx.World); is {
			for key, classes := range w.Classes() {
				namespace, name, _ := strings.Cut(key, "/")
				if r := s.readings[Name{Namespace: namespace, Name: name}]; r != nil {
					r.Classes = classes
				}
			}
		}
	}
	return s.readings
}

func readAll(o Objects, options ClassOptions) *placement {
	s := newPlacement(o, options)
	for _, ing := range o.Ingresses {
		if ing.DeletionTimestamp.IsZero() {
			s.read(ing)
		}
	}
	return s
}
