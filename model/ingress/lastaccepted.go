package ingress

import (
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file checks last accepted versions against the present class. The last accepted version of
// an Ingress is served after a mistake of its author, and while the class is missing. If the class
// no longer permits it, it is removed at once.

// lastAccepted returns the last accepted version of an Ingress as a member of a load balancer, read
// under the present class. If the class no longer permits it, ok is false and withdrawn says why.
// Ok is also false if an annotation can no longer be read, because the version would be served
// without its effect, and if the version takes too many steps to compile.
func lastAccepted(c *Class, key routing.Key, ing *networkingv1.Ingress,
	accepted *record.Accepted) (m Member, withdrawn string, ok bool) {
	version := accepted.Version(ing)
	group := key.SharedGroup()
	if group != "" && c.sharedGroupOf(version) != group {
		return Member{}, fmt.Sprintf("class %s has no group %s for it any more", c.Name,
			group), false
	}
	given, withdrawn, ok := readServed(c, key, version)
	ok = ok && tooComplex(version, given) == nil
	if withdrawn == "" {
		withdrawn = whyMoves(c, key, version, given)
	}
	return NewMember(version, given), withdrawn, ok && withdrawn == ""
}

// readServed reads the annotations of an Ingress that a load balancer serves, even if it would now
// belong to another one. Ok is false if an annotation cannot be read, or if the class forbids one
// without which more would be exposed, which forbidden then describes.
func readServed(c *Class, key routing.Key,
	ing *networkingv1.Ingress) (given settings.Values, forbidden string, ok bool) {
	given, found := readAnnotationsOn(c, ing, key.SharedGroup())
	there := given
	there.Scheme = key.Scheme() // the effect of other controllers' annotations depends on it
	found = append(slices.DeleteFunc(found,
		func(d diag.Diagnostic) bool { return d.Reason == diag.AnnotationForeign }), foreignAnnotations(
		c, ing, there)...)
	ok = true
	for _, d := range found {
		switch {
		case d.Severity != diag.Error:
		case d.Reason == diag.AnnotationNotAllowed || d.Reason == diag.AnnotationForeign:
			return given, d.Source.Field + ": " + d.Message, false
		case d.Reason == diag.AnnotationInvalid:
			ok = false
		}
	}
	return given, "", ok
}

// whyMoves returns why the class does not permit a version on a load balancer of this scheme or
// name: its own scheme is more restrictive, or it does not allow the annotation for the scheme or
// name.
func whyMoves(c *Class, key routing.Key, version *networkingv1.Ingress,
	read settings.Values) string {
	_, asked := version.Annotations[settings.Scheme]
	if key.Scheme() == v1alpha1.SchemeInternetFacing && read.Scheme != key.Scheme() &&
		(asked || c.Scheme != "") {
		return fmt.Sprintf("class %s does not let it be %s any more", c.Name, key.Scheme())
	}
	if name, asked := version.Annotations[settings.LoadBalancerName]; asked &&
		read.LoadBalancerName != name {
		return fmt.Sprintf("class %s does not let it be on the load balancer %s any more", c.Name, name)
	}
	return ""
}

// denies returns diagnostics about the hosts of an Ingress if the class permits none of its rules,
// else nil.
func denies(c *Class, m Member, labels map[string]string) []diag.Diagnostic {
	a := allowanceOf(c, labels)
	if a.Everything {
		return nil
	}
	rules, found := a.permitted(m, c.HostMissMeaning())
	if a.leaves(m, rules) {
		return nil
	}
	if m.Spec.DefaultBackend != nil {
		found = append(found, diag.Diagnostic{
			Severity: diag.Error, Reason: diag.HostNotAllowed,
			Source:  m.Source().At(defaultBackendField),
			Message: notForAnyHost(m),
		})
	}
	return found
}

// servedForeignRestrictions reports whether the class permitted such annotations when a version was
// last accepted.
func (s Snapshot) servedForeignRestrictions() bool {
	return s.Recorded.Class != nil &&
		(&Class{LoadBalancerClassSpec: *s.Recorded.Class}).servesForeignRestrictions()
}
