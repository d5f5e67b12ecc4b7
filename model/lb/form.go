package lb

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// This file compares rules by meaning, not by spelling. A cloud may return a rule in another form
// than Fairlead wrote it: AWS returns the values of a condition in an order of its own
// (https://github.com/go-to-k/cdk-real-drift/pull/330), and compares hosts, names and values of
// headers and query strings without regard to case
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_HostHeaderConditionConfig.html,
// API_HttpHeaderConditionConfig.html and API_QueryStringConditionConfig.html there), as
// routing.Conditions does. Paths and methods are compared with it
// (API_PathPatternConditionConfig.html, API_HttpRequestMethodConditionConfig.html), and so are
// regular expressions. Rules are written in their original form.

// form is equal for conditions that hold for the same requests because of the same values.
func (c Condition) form() Condition {
	spelt := func(value string) string { return value }
	switch c.Field {
	case "host", "header", "query":
		c.Name, spelt = strings.ToLower(c.Name), strings.ToLower
	case "source":
		spelt = canonicalRange
	}
	c.Values, c.Regex = set(c.Values, spelt), set(c.Regex, func(value string) string { return value })
	return c
}

// formOf returns the forms of conditions, in one order.
func formOf(conditions []Condition) []Condition {
	out := make([]Condition, len(conditions))
	for i, c := range conditions {
		out[i] = c.form()
	}
	slices.SortStableFunc(out, func(a, b Condition) int {
		return cmp.Or(slices.Index(Fields, a.Field)-slices.Index(Fields, b.Field),
			strings.Compare(a.Name, b.Name),
			slices.Compare(a.Values, b.Values), slices.Compare(a.Regex, b.Regex))
	})
	return out
}

// set returns values in one order and spelling, without duplicates. It does not change its
// argument.
func set(values []string, spelt func(string) string) []string {
	if len(values) == 0 {
		return nil
	}
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = spelt(v)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// canonicalRange returns an address range in canonical form, and any other text unchanged.
func canonicalRange(value string) string {
	if prefix, err := netip.ParsePrefix(value); err == nil {
		return prefix.Masked().String()
	}
	if address, err := netip.ParseAddr(value); err == nil {
		return netip.PrefixFrom(address, address.BitLen()).String()
	}
	return value
}

// form is equal for actions that do the same: the order of target groups does not matter.
func (a Action) form() Action {
	byGroup := func(a, b Weighted) int {
		return cmp.Or(strings.Compare(string(a.Group), string(b.Group)), cmp.Compare(a.Weight, b.Weight))
	}
	if !slices.IsSortedFunc(a.Targets, byGroup) {
		a.Targets = slices.SortedFunc(slices.Values(a.Targets), byGroup)
	}
	return a
}

// Key is equal for rules of equal content and only for them.
func (r Rule) Key() string { return r.MatchKey() + " → " + r.Action.Key() }

// MatchKey is equal for rules with equal conditions and only for them. Order and case do not matter
// where the cloud ignores them.
func (r Rule) MatchKey() string { return conditionsText(formOf(r.Conditions)) }

// Key is equal for equal conditions and only for them. Order and case do not matter where the cloud
// ignores them.
func (c Condition) Key() string { return c.form().String() }

// Key is equal for equal actions and only for them. The order of target groups does not matter.
func (a Action) Key() string {
	a = a.form()
	if a.Auth != nil || a.Rewrite != nil || a.Body != "" || a.ContentType != "" {
		text, err := json.Marshal(a)
		if err != nil {
			return fmt.Sprintf("%+v", a) // plain data always marshals
		}
		return string(text)
	}
	return a.String()
}

// SameRule reports whether two rules are equal in content.
func SameRule(a, b Rule) bool {
	return SameConditions(a, b) && SameAction(a.Action, b.Action)
}

// SameConditions reports whether the conditions of two rules are equal. It compares their texts
// first, which are usually equal.
func SameConditions(a, b Rule) bool {
	return slices.EqualFunc(a.Conditions, b.Conditions, func(a, b Condition) bool {
		return a.Field == b.Field && a.Name == b.Name && slices.Equal(a.Values, b.Values) &&
			slices.Equal(a.Regex, b.Regex)
	}) || a.MatchKey() == b.MatchKey()
}

// SameAction reports whether two actions are equal. It compares keys only if an action has unusual
// parts.
func SameAction(a, b Action) bool {
	if a.Kind != b.Kind || a.StickySeconds != b.StickySeconds || a.Status != b.Status ||
		a.Location != b.Location || !slices.Equal(a.Targets, b.Targets) {
		return a.Key() == b.Key()
	}
	plain := func(a Action) bool {
		return a.Auth == nil && a.Rewrite == nil && a.Body == "" && a.ContentType == ""
	}
	return plain(a) && plain(b) || a.Key() == b.Key()
}
