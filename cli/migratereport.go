package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/cli/traffic"
	"fairlead.dev/fairlead/model/bindings"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/printable"
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
	// Bindings are the TargetGroupBindings that users wrote.
	Bindings []migratedBinding `json:"bindings,omitempty"`
	// Logs is there if requests of access logs were replayed.
	Logs *traffic.Report `json:"logs,omitempty"`
	// Attestation is there if manifests are written.
	Attestation *attestation `json:"attestation,omitempty"`
}

// A migrationSummary counts Ingresses and annotations.
type migrationSummary struct {
	Ingresses   outcomes `json:"ingresses"`
	Annotations outcomes `json:"annotations"`
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
	// Curl is a request that shows the difference.
	Curl string `json:"curl,omitempty"`
}

// A decision is a verdict about objects.
type decision struct {
	fieldVerdict
	Objects []string `json:"objects"`
}

// A migratedIngress is what becomes of an Ingress and its Services.
type migratedIngress struct {
	Name    string          `json:"name"`
	Place   string          `json:"place,omitempty"`
	Outcome dialect.Outcome `json:"outcome"` // the worst
	Fields  []ofObject      `json:"fields"`
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
	r := migration{Decisions: []decision{}, Ingresses: []migratedIngress{}}
	readings := ingress.Readings(s.objects, s.options)
	names := slices.SortedFunc(maps.Keys(readings), func(a, b ingress.Name) int {
		return strings.Compare(a.String(), b.String())
	})
	counted := map[string]bool{} // annotations of Services that several Ingresses refer to
	for _, name := range names {
		one := migratedIngress{Name: name.String(), Fields: fieldsOf(name, readings[name], notes)}
		if at, known := places.Of("Ingress "+one.Name, ""); known {
			one.Place = at.String()
		}
		one.Outcome = dialect.Same
		for _, f := range one.Fields {
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
		r.Summary.Ingresses.add(one.Outcome)
		r.Ingresses = append(r.Ingresses, one)
	}
	r.Summary.Others = len(s.objects.Ingresses) - len(names)
	r.decideAboutClasses(notes)
	r.addBindings(s, places)
	slices.SortStableFunc(r.Decisions, func(a, b decision) int {
		return cmp.Or(byOutcome(a.Outcome, b.Outcome), len(b.Objects)-len(a.Objects))
	})
	return r
}

// fieldsOf returns the verdicts of an Ingress and its Services, with the errors of the compiler, and its
// warnings about annotations that the dialect takes.
func fieldsOf(name ingress.Name, reading *dialect.Reading, notes []diag.Diagnostic) []ofObject {
	out := []ofObject{}
	for _, v := range reading.Verdicts {
		f := ofObject{"Ingress " + name.String(), fieldVerdict{v.Key, v.Outcome, v.Message, ""}}
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
		of := d.Source
		if of.Kind != "Ingress" || of.Namespace != name.Namespace || of.Name != name.Name || said(d) {
			continue
		}
		field := of.Field
		if key, is := strings.CutPrefix(field, "metadata.annotations["); is {
			field = strings.TrimSuffix(key, "]")
		}
		at := slices.IndexFunc(out, func(f ofObject) bool {
			return f.Object == "Ingress "+name.String() && f.Field == field && f.Message == ""
		})
		one := ofObject{"Ingress " + name.String(), fieldVerdict{field, dialect.Refused, d.Message, ""}}
		if d.Reason == diag.ServiceMissing && d.Severity == diag.Error {
			one.Outcome, one.Message = withoutService(name.Namespace, reading, d.Message)
		}
		switch {
		case d.Severity == diag.Error && at < 0:
			out = append(out, one)
		case d.Severity == diag.Error:
			out[at] = one
		case d.Severity == diag.Warning && at >= 0: // such as one that the class does not allow
			out[at].Outcome, out[at].Message = dialect.Dropped, d.Message
		}
	}
	return out
}

// withoutService returns the verdict about a Service that is missing, and its message. The other controller has
// a rule that answers 503 in place of a Service alone, and builds nothing of a group where it is one of several.
func withoutService(namespace string, reading *dialect.Reading, missing string) (dialect.Outcome, string) {
	for _, b := range settings.BackendsOf(reading.Annotations) {
		if len(b.Services) > 1 && slices.ContainsFunc(b.Services, func(s v1alpha1.WeightedService) bool {
			return strings.HasSuffix(missing, " "+namespace+"/"+s.Name)
		}) {
			return dialect.Dropped, missing + ": its share of the requests is answered 503, and the other controller changes " +
				"nothing of the group until there is one"
		}
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

// decide adds a verdict to the decisions, unless all stays the same.
func (r *migration) decide(f ofObject, places manifests.Places) {
	if f.Outcome == dialect.Same {
		return
	}
	field := f.Field
	if strings.Contains(field, "/") {
		field = "metadata.annotations[" + field + "]"
	}
	object := f.Object
	if at, known := places.Of(object, field); known {
		object += " (" + at.String() + ")"
	}
	for i := range r.Decisions {
		d := &r.Decisions[i]
		if d.Field == f.Field && d.Outcome == f.Outcome && d.Message == f.Message {
			d.Objects = append(d.Objects, object)
			return
		}
	}
	r.Decisions = append(r.Decisions, decision{f.fieldVerdict, []string{object}})
}

// decideAboutClasses adds the errors in classes and their parameters.
func (r *migration) decideAboutClasses(notes []diag.Diagnostic) {
	for _, d := range notes {
		if d.Severity == diag.Error && d.Source.Namespace == "" && strings.Contains(d.Source.Kind, "Class") {
			object := diag.Source{Kind: d.Source.Kind, Name: d.Source.Name}
			r.Decisions = append(r.Decisions, decision{
				fieldVerdict{d.Source.Field, dialect.Refused, d.Message, ""}, []string{object.String()}})
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
			f := ofObject{object, fieldVerdict{cmp.Or(d.Source.Field, "spec"), dialect.Same, d.Message, ""}}
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

// String returns the counts in words.
func (o outcomes) String() string {
	return fmt.Sprintf("%d same, %d changed, %d dropped, %d refused", o.Same, o.Changed, o.Dropped, o.Refused)
}

func (o outcomes) all() int { return o.Same + o.Changed + o.Dropped + o.Refused }

// String returns the summary in one line.
func (s migrationSummary) String() string {
	text := fmt.Sprintf("%d of %d Ingresses can migrate as they are", s.Ingresses.Same, s.Ingresses.all())
	text += fmt.Sprintf(" (%s); %s (%s)", s.Ingresses, output.Number(s.Annotations.all(), "annotation"),
		s.Annotations)
	if s.Others > 0 {
		text += fmt.Sprintf("; %d of other classes", s.Others)
	}
	return text
}

// Text returns the report as text.
func (r migration) Text(colour output.Palette) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(printable.Line(fmt.Sprintf(format, args...)) + "\n")
	}
	mark := func(o dialect.Outcome) string {
		if o == dialect.Same {
			return colour.Good(string(o))
		}
		return colour.Bad(string(o))
	}
	line("%s.", r.Summary)
	if len(r.Decisions) > 0 {
		b.WriteString("\nTo decide:\n")
	}
	for _, d := range r.Decisions {
		b.WriteString("  " + mark(d.Outcome) + " ")
		line("%s", d.Field)
		line("    %s", d.Message)
		if d.Curl != "" {
			line("    %s", d.Curl)
		}
		for _, object := range d.Objects[:min(len(d.Objects), mostShown)] {
			line("    in %s", object)
		}
		if more := len(d.Objects) - mostShown; more > 0 {
			line("    in %d more; -o json has all", more)
		}
	}
	b.WriteString("\nIngresses:\n")
	for _, i := range r.Ingresses {
		b.WriteString("  " + mark(i.Outcome) + " ")
		line("%s", strings.TrimSpace(i.Name+" "+inBrackets(i.Place)))
		for _, f := range i.Fields {
			of := ""
			if f.Object != "Ingress "+i.Name {
				of = " of " + f.Object
			}
			b.WriteString("    " + mark(f.Outcome) + " ")
			line("%s%s", f.Field, of)
		}
	}
	if len(r.Bindings) > 0 {
		b.WriteString("\nTargetGroupBindings:\n")
	}
	for _, i := range r.Bindings {
		b.WriteString("  " + mark(i.Outcome) + " ")
		line("%s", strings.TrimSpace(i.Name+" "+inBrackets(i.Place)))
		line("    %s", i.Message)
	}
	if r.Logs != nil {
		b.WriteString("\nRequests in the logs:\n" + r.Logs.Text(colour, topShown))
	}
	if r.Attestation != nil {
		b.WriteByte('\n')
		line("Written: %s.", r.Attestation)
	}
	return b.String()
}

func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return "(" + text + ")"
}

// Markdown returns the report as Markdown: the decisions, and the Ingresses.
func (r migration) Markdown() string {
	var b output.Comment
	fmt.Fprintf(&b, "### Fairlead: %s\n", r.Summary)
	var decisions, ingresses, bound [][]string
	for _, i := range r.Bindings {
		bound = append(bound, []string{output.Strong(string(i.Outcome)), output.Code(i.Name), output.Escaped(i.Place),
			output.Escaped(i.Message)})
	}
	for _, d := range r.Decisions {
		objects := d.Objects[0]
		if more := len(d.Objects) - 1; more > 0 {
			objects += fmt.Sprintf(" and %d more", more)
		}
		decisions = append(decisions, []string{output.Strong(string(d.Outcome)), output.Code(d.Field),
			output.Escaped(d.Message), output.Code(d.Curl), output.Escaped(objects)})
	}
	for _, i := range r.Ingresses {
		var all outcomes
		for _, f := range i.Fields {
			all.add(f.Outcome)
		}
		ingresses = append(ingresses, []string{output.Strong(string(i.Outcome)), output.Code(i.Name),
			output.Escaped(i.Place), all.String()})
	}
	slices.SortStableFunc(ingresses, func(a, b []string) int {
		return byOutcome(dialect.Outcome(strings.Trim(a[0], "*")), dialect.Outcome(strings.Trim(b[0], "*")))
	})
	b.Table("| Outcome | Annotation or field | What happens | Request | Of |", decisions)
	b.Table("| Outcome | Ingress | Place | Annotations |", ingresses)
	b.Table("| Outcome | TargetGroupBinding | Place | What happens |", bound)
	if r.Logs != nil {
		s := r.Logs.Summary
		b.List("requests in the logs", []string{fmt.Sprintf("%d compared, %d disagree, %d without their Service, "+
			"%d of ports that are not there, %d of other load balancers", s.Compared, s.Disagreements, s.Services,
			s.NoListener, s.Others)})
	}
	if r.Attestation != nil {
		b.List("written", []string{r.Attestation.String()})
	}
	return b.String()
}
