package foreign

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/ingress/spelling"
)

// This file is about annotations that no controller of the table has, and that are plainly meant
// for an Ingress controller: because of the prefix, or of a name that only Ingress controllers
// have. Their names are looked up in the tables of all controllers.

// unlisted are the names of all controllers.
var unlisted = unlistedController("")

// unlistedUnderKubernetes are the same behind kubernetes.io/ingress., as GKE writes its own.
var unlistedUnderKubernetes = unlistedController("ingress.")

// unlistedController has the rows of all controllers, those that restrict going first. Those of
// Pomerium are left out: there all annotations restrict, since without one no request is let in. Of
// patterns it has those that restrict.
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

// unlistedOf is the controller for a prefix and a name in lower case that no controller of the
// table has; nil if they are not meant for an Ingress controller.
func unlistedOf(prefix, name string) *controller {
	labels := strings.Split(prefix, ".")
	switch {
	case prefix == "kubernetes.io" && strings.HasPrefix(name, unlistedUnderKubernetes.stem):
		return unlistedUnderKubernetes
	case strings.Contains(prefix, "fairlead") || spelling.Within(prefix, "fairlead.dev", 2):
		return nil // they are meant as Fairlead's own
	case slices.Contains(labels, "ingress") && slices.Contains(labels, "kubernetes"):
		return unlisted
	case strings.Contains(prefix, "ingress"):
		return guardingNames
	case distinctive[name]:
		return guardingNames
	}
	return nil
}

// guardingNames are the names of all controllers, of which only those count that restrict: the
// prefix tells less of what they are for.
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

// distinctive are the names that restrict and that are known well enough to mean the same under any
// prefix.
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
