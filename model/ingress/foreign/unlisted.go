package foreign

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/ingress/spelling"
)

// This file finds annotations of unknown prefixes that are clearly for an Ingress controller, by
// the prefix, or by a name that only Ingress controllers have. Their names are looked up in the
// tables of all controllers.

// unlisted has the names of all controllers.
var unlisted = unlistedController("")

// unlistedUnderKubernetes has the same names after kubernetes.io/ingress., as GKE writes its own.
var unlistedUnderKubernetes = unlistedController("ingress.")

// unlistedController returns the rows of all controllers, restricting ones first. It leaves out
// those of Pomerium, whose annotations all restrict, and patterns that do not restrict.
func unlistedController(stem string) *controller {
	c := &controller{name: "a controller that is not known", stem: stem, onServices: "*"}
	for _, other := range controllers {
		if other == &pomerium || other == &serviceLoadBalancers || other == &bunkerWeb ||
			other == &tailscale {
			continue
		}
		for _, s := range other.settings {
			var names []string
			for name := range strings.FieldsSeq(s.names) {
				if start, all := strings.CutSuffix(name, "*"); !all ||
					s.effect == Restricts && (strings.HasSuffix(start, "-") || strings.HasSuffix(start, ".")) {
					names = append(names, stem+name)
				}
			}
			s.names = strings.Join(names, " ")
			c.settings = append(c.settings, s)
		}
	}
	return indexed([]*controller{c})[0]
}

// unlistedOf returns the controller for a prefix and a name, in lower case, that are not in the
// table; nil if they are not for an Ingress controller.
func unlistedOf(prefix, name string) *controller {
	labels := strings.Split(prefix, ".")
	switch {
	case prefix == "kubernetes.io" && strings.HasPrefix(name, unlistedUnderKubernetes.stem):
		return unlistedUnderKubernetes
	case strings.Contains(prefix, "fairlead") || spelling.Within(prefix, "fairlead.dev", 2):
		return nil // it is a misspelling of Fairlead's prefix
	case slices.Contains(labels, "ingress") && slices.Contains(labels, "kubernetes"):
		return unlisted
	case strings.Contains(prefix, "ingress"):
		return guardingNames
	case distinctive[name]:
		return guardingNames
	}
	return nil
}

// guardingNames has the restricting names of all controllers, for prefixes that may belong to other
// programs.
var guardingNames = func() *controller {
	c := unlistedController("")
	c.others = true
	c.rows = slices.DeleteFunc(c.rows, func(r row) bool { return r.effect != Restricts })
	c.named = make(map[string]*row, len(c.rows))
	for i := range c.rows {
		if !c.rows[i].pattern() {
			c.named[c.rows[i].name] = &c.rows[i]
		}
	}
	return c
}()

// distinctive has the restricting names that are well known enough to have the same meaning under
// any prefix.
var distinctive = func() map[string]bool {
	out := map[string]bool{}
	for _, s := range slices.Concat(nginxSettings, haproxyIngressSettings, haproxyTechnologiesSettings,
		awsALB.settings) {
		for name := range strings.FieldsSeq(s.names) {
			if s.effect == Restricts && strings.Count(name, "-") > 0 && !strings.HasSuffix(name, "*") {
				out[name] = true
			}
		}
	}
	return out
}()
