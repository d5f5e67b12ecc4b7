package cli

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/cli/traffic"
	"fairlead.dev/fairlead/model/bindings"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/settings"
)

// This file has the report of migrate.

// A migration is the JSON that migrate prints: keys may be added, and none may change.
type migration struct {
	Summary migrationSummary `json:"summary"`
	// Decisions has all that is not the same, the worst first. What several objects have in common is
	// there once.
	Decisions []decision        `json:"decisions"`
	Ingresses []migratedIngress `json:"ingresses"`
	// LoadBalancers are what each load balancer needs of the quotas.
	LoadBalancers []needed `json:"loadBalancers"`
	// Bindings are the TargetGroupBindings that users wrote.
	Bindings []migratedBinding `json:"bindings,omitempty"`
	// Logs is there if requests of access logs were replayed.
	Logs *traffic.Report `json:"logs,omitempty"`
	// Notes say what is assumed, and what is in front of the other controller.
	Notes []string `json:"notes,omitempty"`
	// Requests is there if access logs of ingress-nginx were read.
	Requests *judged `json:"requests,omitempty"`
	// Attestation is there if manifests are written.
	Attestation *attestation        `json:"attestation,omitempty"`
	decided     map[decisionKey]int // of Decisions, before they are sorted
}

// A migrationSummary counts Ingresses, annotations and classes of requests.
type migrationSummary struct {
	From        string   `json:"from"` // the dialect
	On          string   `json:"on"`   // what answers then, such as alb
	Ingresses   outcomes `json:"ingresses"`
	Annotations outcomes `json:"annotations"`
	// Classes of requests: with the dialect alb, those that change are at most so many.
	Classes dialect.Classes `json:"classes"`
	// ToDecide counts the Ingresses that are not served, or not whole, until they are changed.
	ToDecide int `json:"toDecide"`
	// Others are the Ingresses of other classes.
	Others int `json:"others"`
}

// outcomes are how many there are of each outcome.
type outcomes struct {
	Same    int `json:"same"`
	Changed int `json:"changed"`
	Dropped int `json:"dropped"`
	Refused int `json:"refused"`
}

// A fieldVerdict is what becomes of an annotation or of another field.
type fieldVerdict struct {
	Field   string          `json:"field"`
	Outcome dialect.Outcome `json:"outcome"`
	Message string          `json:"message,omitempty"`
	// Curl is a request that shows the difference, or one that is not served.
	Curl string `json:"curl,omitempty"`
	// Before and After are the answers to it of the other controller and of Fairlead, where they are known.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// A decision is a verdict about objects.
type decision struct {
	fieldVerdict
	Objects []string `json:"objects"`
	// Everywhere: it is about all Ingresses, and no object has it.
	Everywhere bool     `json:"everywhere,omitempty"`
	names      []string // of the objects, without their places
	named      map[string]bool
}

// A decisionKey has what verdicts that are one decision have in common.
type decisionKey struct {
	field      string
	outcome    dialect.Outcome
	folded     string // the message without what only one object has
	everywhere bool
}

// A migratedIngress is what becomes of an Ingress and its Services.
type migratedIngress struct {
	Name    string          `json:"name"`
	Place   string          `json:"place,omitempty"`
	Outcome dialect.Outcome `json:"outcome"` // the worst
	Fields  []ofObject      `json:"fields"`
	Classes dialect.Classes `json:"classes"`
}

// A migratedBinding is what becomes of a TargetGroupBinding.
type migratedBinding struct {
	Name    string          `json:"name"`
	Place   string          `json:"place,omitempty"`
	Outcome dialect.Outcome `json:"outcome"`
	Message string          `json:"message"`
}

// An ofObject is a verdict about a field of an Ingress, or of a Service that it refers to.
type ofObject struct {
	Object string `json:"object"`
	fieldVerdict
	everywhere bool
}

// worst has the outcomes, the worst first.
var worst = []dialect.Outcome{dialect.Refused, dialect.Changed, dialect.Dropped, dialect.Same}

func byOutcome(a, b dialect.Outcome) int {
	return cmp.Compare(slices.Index(worst, a), slices.Index(worst, b))
}

// reportMigration says what becomes of the Ingresses, with what the compiler found.
func reportMigration(s *side, places manifests.Places, notes []diag.Diagnostic) migration {
	if !s.live {
		notes = program.AmongFiles(notes)
	}
	r := migration{Summary: migrationSummary{From: s.input.From}, Decisions: []decision{}, Ingresses: []migratedIngress{},
		LoadBalancers: []needed{}, decided: map[decisionKey]int{}}
	readings := ingress.ReadingsWithClasses(s.objects, s.options)
	names := slices.SortedFunc(maps.Keys(readings), func(a, b ingress.Name) int {
		return strings.Compare(a.String(), b.String())
	})
	split := splitHosts(s)
	counted := map[string]bool{} // annotations of Services that several Ingresses refer to
	about := map[ingress.Name][]diag.Diagnostic{}
	for _, d := range notes {
		if d.Source.Kind == "Ingress" {
			of := ingress.Name{Namespace: d.Source.Namespace, Name: d.Source.Name}
			about[of] = append(about[of], d)
		}
	}
	for _, name := range names {
		one := migratedIngress{Name: name.String(), Fields: fieldsOf(name, readings[name], about[name], s.input.From)}
		if at, known := places.Of("Ingress "+one.Name, ""); known {
			one.Place = at.String()
		}
		one.Outcome = dialect.Same
		if split[name] != nil {
			one.Fields = append(one.Fields, *split[name])
		}
		for _, f := range one.Fields {
			if f.everywhere {
				r.decide(f, places)
				continue
			}
			one.Outcome = slices.MinFunc([]dialect.Outcome{one.Outcome, f.Outcome}, byOutcome)
			id := f.Object + " " + f.Field
			if counted[id] {
				continue
			}
			counted[id] = true
			r.decide(f, places)
			if strings.Contains(f.Field, "/") {
				r.Summary.Annotations.add(f.Outcome)
			}
		}
		one.Fields = slices.DeleteFunc(one.Fields, func(f ofObject) bool { return f.everywhere })
		one.countClasses(readings[name])
		r.Summary.Ingresses.add(one.Outcome)
		r.Summary.Classes = r.Summary.Classes.Plus(one.Classes)
		r.Ingresses = append(r.Ingresses, one)
	}
	r.Summary.ToDecide = r.Summary.Ingresses.Refused
	r.Summary.Others = len(s.objects.Ingresses) - len(names)
	r.decideAboutClasses(notes)
	r.addBindings(s, places)
	slices.SortStableFunc(r.Decisions, func(a, b decision) int {
		return cmp.Or(everywhereLast(a, b), byOutcome(a.Outcome, b.Outcome), len(b.names)-len(a.names))
	})
	slices.SortStableFunc(r.Ingresses, func(a, b migratedIngress) int { return byOutcome(a.Outcome, b.Outcome) })
	return r
}

func everywhereLast(a, b decision) int {
	return cmp.Compare(map[bool]int{true: 1}[a.Everywhere], map[bool]int{true: 1}[b.Everywhere])
}

// countClasses counts the classes of requests, with what is refused and changed of paths beside what the dialect says.
func (i *migratedIngress) countClasses(reading *dialect.Reading) {
	for path, c := range reading.Classes {
		for _, f := range i.Fields {
			about := pathOf(f.Field)
			counted := slices.ContainsFunc(reading.Verdicts, func(v dialect.Verdict) bool {
				return v.Key == f.Field && v.Message == f.Message && v.Outcome == f.Outcome
			})
			switch {
			case counted, about != "" && about != pathOf(path):
			case f.Outcome == dialect.Refused:
				c = dialect.Classes{Refused: c.Same + c.Changed + c.Refused}
			case f.Outcome == dialect.Changed:
				c = dialect.Classes{Changed: c.Same + c.Changed, Refused: c.Refused}
			}
		}
		i.Classes = i.Classes.Plus(c)
	}
}

// splitHosts returns a verdict for each Ingress of ingress-nginx on a host that Ingresses of several namespaces name, where each
// namespace has load balancers of its own.
func splitHosts(s *side) map[ingress.Name]*ofObject {
	lookup, _ := ingress.NewClassLookup(s.objects, s.options)
	namespaces := map[string]map[string]bool{} // by class and host
	each := func(do func(ing *networkingv1.Ingress, key string)) {
		for _, ing := range s.objects.Ingresses {
			class := lookup.Of(ing, false).Class
			if class == nil || class.Dialect != v1alpha1.DialectNGINX || len(class.Groups) > 0 && class.Hosts == v1alpha1.HostsShared {
				continue
			}
			for _, rule := range ing.Spec.Rules {
				do(ing, class.Name+" "+rule.Host)
			}
		}
	}
	each(func(ing *networkingv1.Ingress, key string) {
		if namespaces[key] == nil {
			namespaces[key] = map[string]bool{}
		}
		namespaces[key][ing.Namespace] = true
	})
	out := map[ingress.Name]*ofObject{}
	each(func(ing *networkingv1.Ingress, key string) {
		if len(namespaces[key]) > 1 {
			out[nameOf(ing)] = &ofObject{Object: "Ingress " + nameOf(ing).String(), fieldVerdict: fieldVerdict{Field: "spec.rules[].host",
				Outcome: dialect.Changed, Message: "Ingresses of other namespaces name this host, too: ingress-nginx serves all of them " +
					"at one address, and here each namespace has a load balancer of its own: list a group in the class, with " +
					"`hosts: Shared`"}}
		}
	})
	return out
}

// fieldsOf returns the verdicts of an Ingress and its Services, with the errors of the compiler about it, and its
// warnings about annotations that the dialect takes.
func fieldsOf(name ingress.Name, reading *dialect.Reading, notes []diag.Diagnostic, from string) []ofObject {
	out := []ofObject{}
	for _, v := range reading.Verdicts {
		f := ofObject{"Ingress " + name.String(), fieldVerdict{Field: v.Key, Outcome: v.Outcome, Message: v.Message, Before: v.Before,
			After: v.After}, v.ByItself}
		if v.Service != "" {
			f.Object = "Service " + name.Namespace + "/" + v.Service
		}
		if v.Request.URL != "" {
			f.Curl = v.Request.Curl()
		}
		out = append(out, f)
	}
	said := func(d diag.Diagnostic) bool {
		return slices.ContainsFunc(reading.Verdicts, func(v dialect.Verdict) bool {
			return d.Reason == diag.AnnotationForeign && v.Message != "" && strings.Contains(d.Message, v.Message)
		})
	}
	for _, d := range notes {
		if said(d) {
			continue
		}
		field := d.Source.Field
		if key, is := strings.CutPrefix(field, "metadata.annotations["); is {
			field = strings.TrimSuffix(key, "]")
		}
		at := slices.IndexFunc(out, func(f ofObject) bool {
			return f.Object == "Ingress "+name.String() && f.Field == field && f.Message == ""
		})
		switch {
		case d.Severity == diag.Error && at < 0:
			out = append(out, ofObject{Object: "Ingress " + name.String(), fieldVerdict: refusedBy(d, field, reading, from)})
		case d.Severity == diag.Error:
			out[at].fieldVerdict = refusedBy(d, field, reading, from)
		case d.Severity == diag.Warning && at >= 0: // such as one that the class does not allow
			out[at].Outcome, out[at].Message = dialect.Dropped, d.Message
		}
	}
	return out
}

// refusedBy returns the verdict about a field that the compiler refuses.
func refusedBy(d diag.Diagnostic, field string, reading *dialect.Reading, from string) fieldVerdict {
	out := fieldVerdict{Field: cmp.Or(field, "all of it"), Outcome: dialect.Refused, Message: d.Message}
	switch {
	case d.Reason == diag.ServiceMissing, d.Reason == diag.ServicePortMissing && from == v1alpha1.DialectNGINX:
		out.Outcome, out.Message = withoutService(d.Source.Namespace, reading, d.Message, from)
	case reading.Example != nil:
		if request, is := reading.Example(pathOf(field)); is {
			out.Curl = request.Curl()
		}
	}
	return out
}

// pathOf returns the path, or the default backend, that a field is of, as in spec.rules[0].http.paths[1].backend; "" for none.
func pathOf(field string) string { return fieldOfPath.FindString(field) }

var fieldOfPath = regexp.MustCompile(`^spec\.(defaultBackend|rules\[\d+\]\.http\.paths\[\d+\])`)

// withoutService returns the verdict about a Service that is missing, or its port, and its message. The AWS Load Balancer Controller
// has a rule that answers 503 in place of a Service alone, and builds nothing of a group where it is one of several. So has
// ingress-nginx 503 for a Service alone, and none for a canary (rootfs/etc/nginx/lua/balancer.lua, route_to_alternative_balancer).
func withoutService(namespace string, reading *dialect.Reading, missing, from string) (dialect.Outcome, string) {
	share := false
	for _, b := range settings.BackendsOf(reading.Annotations) {
		share = share || len(b.Services) > 1 && slices.ContainsFunc(b.Services, func(s v1alpha1.WeightedService) bool {
			return strings.Contains(missing+" ", " "+namespace+"/"+s.Name+" ")
		})
	}
	switch {
	case share && from == v1alpha1.DialectNGINX:
		return dialect.Changed, missing + ": its share of the requests is answered 503. Instead of a canary, ingress-nginx asks the " +
			"other Service; instead of that one, it answers 503 to all of them"
	case share:
		return dialect.Dropped, missing + ": its share of the requests is answered 503, and the other controller changes " +
			"nothing of the group until there is one"
	}
	return dialect.Same, missing + ": requests are answered 503, as by the other controller"
}

func (o *outcomes) add(one dialect.Outcome) {
	switch one {
	case dialect.Same:
		o.Same++
	case dialect.Changed:
		o.Changed++
	case dialect.Dropped:
		o.Dropped++
	case dialect.Refused:
		o.Refused++
	}
}

// index matches the number of an entry in the name of a field.
var index = regexp.MustCompile(`\[\d+\]`)

// decide adds a verdict to the decisions, unless all stays the same. Verdicts that differ in the numbers of fields, and in the names
// of what belongs to the object, are one.
func (r *migration) decide(f ofObject, places manifests.Places) {
	if f.Outcome == dialect.Same {
		return
	}
	field := f.Field
	if strings.Contains(field, "/") {
		field = "metadata.annotations[" + field + "]"
	}
	object, name := f.Object, strings.TrimPrefix(f.Object, "Ingress ")
	if at, known := places.Of(object, field); known {
		object += " (" + at.String() + ")"
	}
	namespace, _, _ := strings.Cut(name, "/")
	d := decision{fieldVerdict: f.fieldVerdict, Everywhere: f.everywhere, Objects: []string{}, named: map[string]bool{}}
	folded := f.Message
	if strings.Contains(f.Message, " "+namespace+"/") {
		own := regexp.MustCompile(`\b(Service|Secret) ` + regexp.QuoteMeta(namespace) + `/[a-z0-9.-]+`)
		folded = own.ReplaceAllString(f.Message, "its $1")
	}
	d.Field = index.ReplaceAllString(f.Field, "[]")
	key := decisionKey{d.Field, d.Outcome, folded, d.Everywhere}
	at, known := r.decided[key]
	switch {
	case !known:
		at, r.Decisions = len(r.Decisions), append(r.Decisions, d)
		r.decided[key] = at
	case r.Decisions[at].Message != d.Message:
		r.Decisions[at].Message = folded
	}
	o := &r.Decisions[at]
	if o.Curl == "" {
		o.Curl, o.Before, o.After = d.Curl, d.Before, d.After
	}
	if !f.everywhere {
		o.Objects = append(o.Objects, object)
		if !o.named[name] {
			o.named[name], o.names = true, append(o.names, name)
		}
	}
}

// decideAboutClasses adds the errors in classes and their parameters.
func (r *migration) decideAboutClasses(notes []diag.Diagnostic) {
	for _, d := range notes {
		if d.Severity == diag.Error && d.Source.Namespace == "" && strings.Contains(d.Source.Kind, "Class") {
			object := diag.Source{Kind: d.Source.Kind, Name: d.Source.Name}
			r.Decisions = append(r.Decisions, decision{
				fieldVerdict: fieldVerdict{Field: d.Source.Field, Outcome: dialect.Refused, Message: d.Message},
				Objects:      []string{object.String()}, names: []string{object.String()}})
		}
	}
}

// addBindings adds the TargetGroupBindings.
func (r *migration) addBindings(s *side, places manifests.Places) {
	for _, b := range bindings.ReportAll(s.objects, s.options) {
		one := migratedBinding{Name: b.Namespace + "/" + b.Name, Outcome: dialect.Same}
		object := alb.BindingKind + " " + one.Name
		if at, known := places.Of(object, ""); known {
			one.Place = at.String()
		}
		for _, d := range b.Found {
			f := ofObject{Object: object, fieldVerdict: fieldVerdict{Field: cmp.Or(d.Source.Field, "spec"), Outcome: dialect.Same,
				Message: d.Message}}
			switch {
			case d.Severity == diag.Error:
				f.Outcome = dialect.Refused
			case d.Reason == diag.BindingNetworking:
				f.Outcome = dialect.Dropped
			}
			one.Outcome = slices.MinFunc([]dialect.Outcome{one.Outcome, f.Outcome}, byOutcome)
			one.Message = d.Message
			r.decide(f, places)
		}
		r.Bindings = append(r.Bindings, one)
	}
}
