package lb

import (
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/printable"
)

// This file has the rules of a listener, and their conditions.

// A Rule sends the requests that fulfil all its conditions to its action. Its content is its
// identity: it has no name, and its position belongs to the listener.
type Rule struct {
	// Conditions has at most one of each field and name, in the order of Fields.
	Conditions []Condition `json:"conditions"`
	Action     Action      `json:"action"`

	// Origin has the routes of the rule, none for a guard of several Ingresses; desired side only.
	Origin []diag.Source `json:"-"`
	// Stays: the cloud has not moved or deleted the rule, so that others move instead; desired side only.
	Stays bool `json:"-"`
}

// Fields has all fields of conditions, in canonical order.
var Fields = []string{"host", "path", "header", "method", "query", "source"}

// A Condition holds if any of its values does. Values are globs as the cloud's Dialect reads them;
// Regex has regular expressions, always anchored. A condition has one or the other.
type Condition struct {
	Field  string   `json:"field"`
	Name   string   `json:"name,omitempty"` // of the header or the query parameter
	Values []string `json:"values,omitempty"`
	Regex  []string `json:"regex,omitempty"`
}

// String returns the rule in one line, in its original form.
func (r Rule) String() string { return conditionsText(r.Conditions) + " → " + r.Action.String() }

// conditionsText returns conditions in one line.
func conditionsText(conditions []Condition) string {
	var b strings.Builder
	for i, c := range conditions {
		if i > 0 {
			b.WriteString(" & ")
		}
		b.WriteString(c.String())
	}
	if len(conditions) == 0 {
		return "any"
	}
	return b.String()
}

// Condition returns the rule's condition on a field, or nil. Headers and query parameters, of
// which a rule can have several, are found by ranging over Conditions.
func (r Rule) Condition(field string) *Condition {
	for i := range r.Conditions {
		if r.Conditions[i].Field == field {
			return &r.Conditions[i]
		}
	}
	return nil
}

// String returns the condition in its original form. Values of several words are quoted.
func (c Condition) String() string {
	name := c.Field
	if c.Name != "" {
		name += " " + printable.Word(c.Name)
	}
	if len(c.Regex) > 0 {
		return name + " ~ " + strings.Join(printable.Words(c.Regex), " | ")
	}
	return name + " = " + strings.Join(printable.Words(c.Values), " | ")
}
