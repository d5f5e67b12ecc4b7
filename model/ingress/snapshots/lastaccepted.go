package snapshots

import (
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/annotations"
	"fairlead.dev/fairlead/model/ingress/classes"
	"fairlead.dev/fairlead/model/ingress/hostrules"
	"fairlead.dev/fairlead/model/ingress/members"
	"fairlead.dev/fairlead/model/ingress/objects"
	"fairlead.dev/fairlead/model/memory"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file judges by the class as it is what was accepted before. The last accepted version of an
// Ingress stands in where its author made a mistake, and while the class is missing. It does not
// stand in where the class has withdrawn its consent since: then it is served no longer, at once.

// LastAccepted makes a member of an Ingress as it was last accepted on a load balancer, read as the
// class reads it today. Where the class does not let it be served so any more it is no member, and
// withdrawn says why. A version with an annotation that cannot be read any more is no member
// either, because it would be served without what that asks for, and one that takes too many steps
// to compile is none.
func LastAccepted(c *classes.Class, key routing.Key, ing *networkingv1.Ingress,
	accepted *memory.Accepted) (m members.Member, withdrawn string, ok bool) {
	version := accepted.Version(ing)
	group := key.SharedGroup()
	if group != "" && c.SharedGroupOf(version) != group {
		return members.Member{}, fmt.Sprintf("class %s has no group %s for it any more", c.Name,
			group), false
	}
	given, withdrawn, ok := ReadServed(c, key, version)
	ok = ok && members.TooComplex(c, version, given) == nil
	if withdrawn == "" {
		withdrawn = movesFrom(c, key, version, given)
	}
	return members.New(version, given), withdrawn, ok && withdrawn == ""
}

// ReadServed reads the annotations of an Ingress that is served by a load balancer, whether or not
// it would be put there today. It is not ok where an annotation cannot be read, or the class
// forbids one, and forbidden says which, without which more would be exposed.
func ReadServed(c *classes.Class, key routing.Key,
	ing *networkingv1.Ingress) (given settings.Values, forbidden string, ok bool) {
	given, found := annotations.ReadOn(c, ing, key.SharedGroup())
	there := given
	there.Scheme = key.Scheme() // which annotations of other controllers may ask for
	found = append(slices.DeleteFunc(found,
		func(d diag.Diagnostic) bool { return d.Reason == diag.AnnotationForeign }), annotations.Foreign(
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

// movesFrom says why the class does not let a version be served by a load balancer of this scheme
// or name: it has another scheme for it that more can be kept from, or it does not allow the
// annotation that asked for it.
func movesFrom(c *classes.Class, key routing.Key, version *networkingv1.Ingress,
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

// Denies says of an Ingress of which the class permits nothing what it does not permit; nil if it
// permits anything.
func Denies(c *classes.Class, m members.Member, labels map[string]string) []diag.Diagnostic {
	a := hostrules.AllowanceOf(c, labels)
	if a.Everything {
		return nil
	}
	rules, found := a.Permitted(m, c.HostMissMeaning())
	if a.Leaves(m, rules) {
		return nil
	}
	if m.Spec.DefaultBackend != nil {
		found = append(found, diag.Diagnostic{
			Severity: diag.Error, Reason: diag.HostNotAllowed,
			Source:  m.Source().At(objects.DefaultBackendField),
			Message: hostrules.NotForAnyHost(m),
		})
	}
	return found
}

// ServedForeignRestrictions reports whether the class let such annotations pass when something was
// last accepted.
func (s Snapshot) ServedForeignRestrictions() bool {
	return s.Memory.Class != nil &&
		(&classes.Class{LoadBalancerClassSpec: *s.Memory.Class}).ServesForeignRestrictions()
}
