package ingress

import (
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/memory"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file judges by the class as it is what was accepted before. The last accepted version of an
// Ingress stands in where its author made a mistake, and while the class is missing. It does not
// stand in where the class has withdrawn its consent since: then it is served no longer, at once.

// excludes says why a namespace may not be on a load balancer: it is that of a group across
// namespaces, whose selector does not select the namespace. It is "" where the namespace may be
// there, and where the class has no such group any more: then all of its members move away, which
// takes the moveGrace.
func (c *Class) excludes(key routing.Key, namespace string, labels map[string]string) string {
	group := c.sharedGroup(key.SharedGroup())
	if group == nil || selects(&group.NamespaceSelector, labels) {
		return ""
	}
	return fmt.Sprintf("class %s does not let namespace %s be in its group %s", c.Name, namespace, group.Name)
}

// lastGood makes a member of an Ingress as it was last accepted on a load balancer, read as the
// class reads it today. Where the class does not let it be served so any more it is no member, and
// withdrawn says why. A version with an annotation that cannot be read any more is no member
// either, because it would be served without what that asks for, and one that takes too many steps
// to compile is none.
func (c *Class) lastGood(key routing.Key, ing *networkingv1.Ingress, accepted *memory.Accepted) (m Member, withdrawn string, ok bool) {
	version := accepted.Version(ing)
	group := key.SharedGroup()
	if group != "" && c.joins(version) != group {
		return Member{}, fmt.Sprintf("class %s has no group %s for it any more", c.Name, group), false
	}
	given, withdrawn, ok := c.readOn(key, version)
	ok = ok && c.tooComplex(version, given) == nil
	if withdrawn == "" {
		withdrawn = c.moves(key, version, given)
	}
	return newMember(version, given), withdrawn, ok && withdrawn == ""
}

// readOn reads the annotations of an Ingress that is served by a load balancer, whether or not it
// would be put there today. It is not ok where an annotation cannot be read, or the class forbids
// one, and forbidden says which, without which more would be exposed.
func (c *Class) readOn(key routing.Key, ing *networkingv1.Ingress) (given settings.Values, forbidden string, ok bool) {
	given, found := c.read(ing, key.SharedGroup())
	there := given
	there.Scheme = key.Scheme() // which annotations of other controllers may ask for
	found = append(slices.DeleteFunc(found, func(d diag.Diagnostic) bool { return d.Reason == diag.AnnotationForeign }), c.foreignOf(ing, there)...)
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

// moves says why the class does not let a version be served by a load balancer of this scheme or
// name: it has another scheme for it that more can be kept from, or it does not allow the
// annotation that asked for it.
func (c *Class) moves(key routing.Key, version *networkingv1.Ingress, read settings.Values) string {
	_, asked := version.Annotations[settings.Scheme]
	if key.Scheme() == v1alpha1.SchemeInternetFacing && read.Scheme != key.Scheme() && (asked || c.Scheme != "") {
		return fmt.Sprintf("class %s does not let it be %s any more", c.Name, key.Scheme())
	}
	if name, asked := version.Annotations[settings.LoadBalancerName]; asked && read.LoadBalancerName != name {
		return fmt.Sprintf("class %s does not let it be on the load balancer %s any more", c.Name, name)
	}
	return ""
}

// denies says of an Ingress of which the class permits nothing what it does not permit; nil if it
// permits anything.
func (c *Class) denies(m Member, labels map[string]string) []diag.Diagnostic {
	a := c.allowance(labels)
	if a.everything {
		return nil
	}
	rules, found := a.permitted(m, c.hostMiss())
	if a.leaves(m, rules) {
		return nil
	}
	if m.Spec.DefaultBackend != nil {
		found = append(found, diag.Diagnostic{
			Severity: diag.Error, Reason: diag.HostNotAllowed, Source: m.Source().At(defaultBackendField),
			Message: notForAnyHost(m),
		})
	}
	return found
}

// stillGood makes a member of an Ingress as it was last accepted by a load balancer. If the class
// has withdrawn its consent it is none, what is served of it ends, and its author is told.
func (s *splitter) stillGood(ing *networkingv1.Ingress, home memory.Home, class *Class) (m Member, told []diag.Diagnostic, ok bool) {
	labels := s.labels(ing.Namespace)
	withdrawn := class.excludes(home.Key, ing.Namespace, labels)
	if withdrawn == "" {
		m, withdrawn, ok = class.lastGood(home.Key, ing, home.LastAccepted)
	}
	if ok && class.denies(m, labels) != nil {
		ok, withdrawn = false, fmt.Sprintf("class %s does not let namespace %s serve any of its hosts", class.Name, ing.Namespace)
	}
	if withdrawn != "" {
		s.end(home, class)
		told = []diag.Diagnostic{tellWithdrawn(ing, home.Key, withdrawn)}
	}
	return m, told, ok
}

// leaving makes a member of an Ingress that moves away from a load balancer, which serves it
// meanwhile as the class of that load balancer reads it. Where that class does not let it be served
// so, the version stays that was last accepted there. Where the class excludes the namespace,
// nothing of it stays.
func (s *splitter) leaving(m Member, home memory.Home, class *Class) (out Member, told []diag.Diagnostic, ok bool) {
	if why := class.excludes(home.Key, m.Namespace, s.labels(m.Namespace)); why != "" {
		s.end(home, class)
		d := tellWithdrawn(m.Ingress, home.Key, why)
		d.Severity = diag.Warning
		return Member{}, []diag.Diagnostic{d}, false
	}
	given, _, ok := class.readOn(home.Key, m.Ingress)
	out = newMember(m.Ingress, given)
	if !ok && home.LastAccepted != nil {
		out, told, ok = s.stillGood(m.Ingress, home, class)
	}
	if !ok {
		return Member{}, told, false
	}
	out.Leaving = true
	return out, nil, true
}

// overreach says of an Ingress of which the class permits nothing what it does not permit, if a
// version of it was accepted before of which the class permits something: that one stays.
func (s *splitter) overreach(m Member, class *Class, t memory.Trail) []diag.Diagnostic {
	denied := class.denies(m, s.labels(m.Namespace))
	if denied == nil {
		return nil
	}
	for _, home := range t {
		before := s.classOf(home.Key)
		if home.LastAccepted == nil || before == nil {
			continue
		}
		last, _, ok := before.lastGood(home.Key, m.Ingress, home.LastAccepted)
		if ok && before.excludes(home.Key, m.Namespace, s.labels(m.Namespace)) == "" && before.denies(last, s.labels(m.Namespace)) == nil {
			return denied
		}
	}
	return nil
}

// end has a load balancer serve nothing any more that the class has withdrawn its consent to.
func (s *splitter) end(home memory.Home, class *Class) {
	if home.Served {
		s.snapshot(home.Key, class).Withdrawn = true
	}
}

func tellWithdrawn(ing *networkingv1.Ingress, key routing.Key, why string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Reason: diag.ConsentWithdrawn, Source: sourceOf(ing),
		Message: fmt.Sprintf("%s does not serve it any more as it was last accepted: %s", key, why),
	}
}
