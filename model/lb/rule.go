package lb

import (
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/routing"
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
	// Stays is set for a rule that the cloud did not delete where it is: it keeps its place; desired side only.
	Stays bool `json:"-"`
}

// Fields has all fields of conditions, in canonical order.
var Fields = []string{"host", "path", "header", "method", "query", "source"}

// A Condition holds if any of its values does. Values are globs as the cloud's Dialect reads them;
// Regex has regular expressions, always anchored. A condition has one or the other. One on the query
// without a name has pairs, "name=value", and values of any parameter.
type Condition struct {
	Field  string   `json:"field"`
	Name   string   `json:"name,omitempty"` // of the header or the query parameter
	Values []string `json:"values,omitempty"`
	Regex  []string `json:"regex,omitempty"`
}

// ConditionOf returns a condition of a route as one of a rule. Pairs of one parameter are a condition
// with its name, as clouds cannot tell the two apart.
func ConditionOf(c routing.Condition) Condition {
	out := Condition{Field: c.Field, Name: c.Name, Values: c.Values}
	if c.Regex {
		out.Regex, out.Values = make([]string, len(c.Values)), nil
		for i, v := range c.Values {
			out.Regex[i] = Anchored(v)
		}
		return out
	}
	if c.Field != "query" || c.Name != "" {
		return out
	}
	values := make([]string, len(c.Values))
	for i, pair := range c.Values {
		name, value, named := strings.Cut(pair, "=")
		if !named || name == "" || strings.ContainsAny(name, "*?") || i > 0 && name != out.Name {
			out.Name = ""
			return out
		}
		out.Name, values[i] = name, value
	}
	out.Values = values
	return out
}

// Anchored returns an expression with an anchor at either end, for the same whole texts.
func Anchored(expression string) string {
	if body, plain := Unanchored(expression); plain {
		return "^" + body + "$"
	}
	return "^(?:" + expression + ")$"
}

// Unanchored returns an expression without the anchors at the ends of its branches, which do not
// matter where it is compared with whole texts. Several branches are in parentheses. Plain is false if
// there are other anchors.
func Unanchored(expression string) (body string, plain bool) {
	branches, complete := routing.Branches(expression)
	texts := make([]string, len(branches))
	for i, b := range branches {
		if texts[i] = b.Text; b.Anchored || !complete {
			return expression, false
		}
	}
	if len(texts) == 1 {
		return texts[0], true
	}
	return "(?:" + strings.Join(texts, "|") + ")", true
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
