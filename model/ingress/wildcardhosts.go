package ingress

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file is for classes whose wildcards stand for any number of labels. A rule for a wildcard is one
// without a host there, with a condition on the host: the table has routes in order, so that it is in
// its place among all that match the same requests.

// spansLabels reports whether a host is a wildcard that stands for any number of labels.
func (c *Class) spansLabels(h routing.Host) bool {
	return h.Wildcard() && c.WildcardHosts == v1alpha1.WildcardAnyLabels
}

// withoutWildcard returns the host and the conditions of the route of a path, where its wildcard may
// span labels. It reports whether any request fulfils them.
func (v *memberTranslation) withoutWildcard(r HostRule, when routing.Conditions, field string) (
	routing.Host, routing.Conditions, bool,
) {
	if !v.translation.class.spansLabels(r.Host) {
		return r.Host, when, true
	}
	c := routing.Condition{Field: "host", Values: []string{string(r.Host)}}
	if own := when.Host(); own != nil {
		both, ok := below(own, r.Host)
		if !ok {
			v.addDiagnostic(diag.Error, diag.NotExpressible, field, "spec.tls lists "+string(r.Host)+", and the "+
				"condition of this path on the host holds for some of its names, and for others: write values "+
				"that end with "+string(r.Host[1:])+", or hosts that they all cover")
			return r.Host, nil, false
		}
		c.Values = both
		when = slices.DeleteFunc(slices.Clone(when), func(c routing.Condition) bool {
			return c.Field == "host"
		})
	}
	when = append(slices.Clone(when), c)
	settings.SortConditions(when)
	return routing.Any, when, len(c.Values) > 0
}

// below returns the values of a condition for the names below a wildcard that fulfil it. It reports
// whether these can be written as globs.
func below(c *routing.Condition, wildcard routing.Host) ([]string, bool) {
	var out []string
	end := string(wildcard[1:])
	for _, v := range c.Values {
		last := v[strings.LastIndexAny(v, "*?")+1:]
		switch {
		case c.Regex:
			return nil, false
		case strings.HasSuffix(v, end):
			out = append(out, v)
		case v == "*"+last && strings.HasSuffix(end, last):
			out = append(out, string(wildcard))
		case last != v && strings.HasSuffix(end, last):
			return nil, false
		}
	}
	slices.Sort(out)
	return slices.Compact(out), true
}

// withoutServed returns closed hosts without the wildcards that span labels and that a rule names on
// the port: they are no hosts of the table, and would be answered 404.
func (t *translation) withoutServed(closed []routing.ClosedHost, all []*memberTranslation) []routing.ClosedHost {
	return slices.DeleteFunc(slices.Clone(closed), func(c routing.ClosedHost) bool {
		return t.class.spansLabels(c.Host) && slices.ContainsFunc(all, func(v *memberTranslation) bool {
			return slices.ContainsFunc(v.rules, func(r HostRule) bool {
				return r.Host == c.Host && r.Listed == "" && slices.Contains(v.ports.of(r), c.Port)
			})
		})
	})
}
