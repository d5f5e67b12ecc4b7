package foreign

import (
	"slices"
	"strings"
)

// This file is about prefixes that no controller of the table has, and that are plainly meant for an Ingress
// controller. Their names are looked up in the tables of all controllers.

// unlisted are the names of all controllers.
var unlisted = unlistedController("")

// unlistedUnderKubernetes are the same behind kubernetes.io/ingress., as GKE writes its own.
var unlistedUnderKubernetes = unlistedController("ingress.")

// unlistedController has the rows of all controllers, those that restrict going first. Those of Pomerium are left out:
// there all annotations restrict, since without one nobody is let in. Of patterns it has those that restrict.
func unlistedController(stem string) *controller {
	c := &controller{name: "a controller that is not known", stem: stem, onServices: "*"}
	for _, other := range controllers {
		if other == &pomerium || other == &serviceLoadBalancers {
			continue
		}
		for _, s := range other.settings {
			var names []string
			for name := range strings.FieldsSeq(s.names) {
				if start, all := strings.CutSuffix(name, "*"); !all || s.effect == Restricts && (strings.HasSuffix(start, "-") || strings.HasSuffix(start, ".")) {
					names = append(names, stem+name)
				}
			}
			s.names = strings.Join(names, " ")
			c.settings = append(c.settings, s)
		}
	}
	return indexed([]*controller{c})[0]
}

// unlistedOf is the controller for a prefix and a name in lower case that no controller of the table has; nil if they
// are not meant for an Ingress controller.
func unlistedOf(prefix, name string) *controller {
	labels := strings.Split(prefix, ".")
	switch {
	case prefix == "kubernetes.io" && strings.HasPrefix(name, unlistedUnderKubernetes.stem):
		return unlistedUnderKubernetes
	case slices.Contains(labels, "ingress") && slices.Contains(labels, "kubernetes"):
		return unlisted
	}
	return nil
}
