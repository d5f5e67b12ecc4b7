package plan

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
)

// This file has parking rules: they make a cloud check the health of target groups before requests
// are sent to them.

// unmatched has the conditions of a parking rule, which no request matches: a host that no DNS can
// have (RFC 2606, section 2), and a source address that is reserved for documentation (RFC 5737).
// AWS refuses 255.255.255.255/32 in a condition
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/rule-condition-types.html).
var unmatched = lb.Rule{Conditions: []lb.Condition{
	{Field: "host", Values: []string{"warm.invalid"}},
	{Field: "source", Values: []string{"192.0.2.1/32"}},
}}

// sourceless has the conditions of a parking rule in a cloud without conditions on sources. The
// host alone would not do: with it, a request would get past the other conditions of a route. The
// path of a request begins with a slash (RFC 9112, section 3.2), and so no Ingress can ask for
// this rule.
var sourceless = lb.Rule{Conditions: []lb.Condition{
	{Field: "host", Values: []string{"warm.invalid"}},
	{Field: "path", Values: []string{"warm"}},
}}

// Parked reports whether a rule is a parking rule. It compares the host first, as it is asked of each
// rule many times.
func Parked(r lb.Rule) bool {
	host := r.Condition("host")
	return host != nil && len(host.Values) > 0 && strings.ToLower(host.Values[0]) == unmatched.Conditions[0].Values[0] &&
		(lb.SameConditions(r, unmatched) || lb.SameConditions(r, sourceless))
}

// ParkingRule returns the parking rule of some target groups. With several it is sticky where the
// cloud has that, as some clouds require this if a target group is.
func ParkingRule(groups []lb.GroupID, c lb.Capabilities) lb.Rule {
	r := lb.Rule{Conditions: unmatched.Conditions, Action: lb.Action{Kind: "forward"}}
	if slices.Contains(c.FieldsRefused, "source") {
		r.Conditions = sourceless.Conditions
	}
	if len(groups) > 1 && !c.NoStickyForward {
		r.Action.StickySeconds = 1
	}
	for _, g := range groups {
		r.Action.Targets = append(r.Action.Targets, lb.Weighted{Group: g, Weight: 1})
	}
	return r
}

// ParkingPriorities returns the priorities kept for parking rules, the last of the range,
// ascending: up to 16, fewer in a small range.
func ParkingPriorities(c lb.Capabilities) []int {
	var out []int
	for p := c.MaxPriority - min(16, (c.MaxPriority-c.MinPriority+1)/8) + 1; p <= c.MaxPriority; p++ {
		out = append(out, p)
	}
	return out
}
