// Package diag has diagnostics for the authors of objects. A diagnostic names an object and a
// field, a reason (a documented constant), and has one sentence about the problem and its remedy.
// Functions of the model return diagnostics, and no errors.
package diag

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/model/printable"
)

// Severity ranks diagnostics by their effect on what is served.
type Severity string

const (
	Error   Severity = "error"   // a part of the object is not served
	Warning Severity = "warning" // it is served, but probably not as its author expects
	Info    Severity = "info"    // everything is served as asked for
)

// A Source is the place in an object that a route, a rule or a diagnostic comes from.
type Source struct {
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Field     string `json:"field,omitempty"` // as the API spells it: spec.rules[0].http.paths[1]
}

// String returns a source as text: `Ingress shop/web spec.rules[0]`.
func (s Source) String() string {
	out := s.Kind
	if name := s.Object(); name != "" {
		out += " " + name
	}
	if s.Field != "" {
		out += " " + s.Field
	}
	return out
}

// Object returns the namespace/name of the object, or the name of one without a namespace.
func (s Source) Object() string {
	if s.Namespace == "" {
		return s.Name
	}
	return s.Namespace + "/" + s.Name
}

// At returns another field of the same object.
func (s Source) At(field string) Source {
	s.Field = field
	return s
}

// Compare orders sources by object, then by field.
func (s Source) Compare(o Source) int {
	return cmp.Or(cmp.Compare(s.Kind, o.Kind), cmp.Compare(s.Namespace, o.Namespace),
		cmp.Compare(s.Name, o.Name), cmp.Compare(s.Field, o.Field))
}

// MarshalText makes a source a string in JSON.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// A Diagnostic is one finding about one place.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	Reason   Reason   `json:"reason"`
	Source   Source   `json:"source"`
	Message  string   `json:"message"`
	// Ports are the ports on which the Ingress is not served as it asks, because of this diagnostic.
	// An error without ports is about all ports that the Ingress asks for. A warning or information
	// without ports is about none.
	Ports Ports `json:"ports,omitempty"`
}

// String returns the diagnostic as one printable line.
func (d Diagnostic) String() string {
	return printable.Line(string(d.Severity) + " " + string(d.Reason) + " " + d.Source.String() +
		": " + d.Message)
}

// Sort orders diagnostics by object, field, severity, reason and text, and removes duplicates, so
// that equal inputs have equal diagnostics. It cuts messages that are too long.
func Sort(ds []Diagnostic) []Diagnostic {
	for i := range ds {
		ds[i].Message, ds[i].Source.Field = bounded(ds[i].Message), bounded(ds[i].Source.Field)
	}
	slices.SortFunc(ds, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.Source.Object(), b.Source.Object()),
			cmp.Compare(a.Source.Kind, b.Source.Kind),
			cmp.Compare(a.Source.Field, b.Source.Field),
			cmp.Compare(a.Severity, b.Severity),
			cmp.Compare(a.Reason, b.Reason),
			cmp.Compare(a.Message, b.Message),
			cmp.Compare(a.Ports, b.Ports),
		)
	})
	return slices.Compact(ds)
}
