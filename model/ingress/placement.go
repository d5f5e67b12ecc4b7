package ingress

import (
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/memory"
	"fairlead.dev/fairlead/model/routing"
)

// This file collects the members of load balancers. The last accepted version of a refused Ingress
// stays a member, if the class still permits it.

// A placement makes the snapshots of all load balancers.
type placement struct {
	*Index
	classes   *ClassLookup
	memories  map[routing.Key]memory.LoadBalancer
	trails    map[string]memory.Trail
	snapshots map[routing.Key]*Snapshot
	// balancers has the load balancers of tenants whose class has a bound; true for those that an
	// Ingress belongs to.
	balancers map[string]map[routing.Key]bool
	existing  func(tenant string) map[routing.Key]bool
	// certificatesOf counts the certificates of Secrets of a namespace, by load balancer.
	certificatesOf func(namespace string) map[routing.Key]int
	homeless       []diag.Diagnostic // about Ingresses that belong to no load balancer
}

// snapshot returns the snapshot of a load balancer with the members so far.
func (s *placement) snapshot(key routing.Key, class *Class) *Snapshot {
	snapshot := s.snapshots[key]
	if snapshot == nil {
		snapshot = &Snapshot{Key: key, Class: *class, Memory: s.memories[key]}
		s.snapshots[key] = snapshot
	}
	return snapshot
}

// classOf returns the class of an existing load balancer. If the class was deleted, it returns the
// remembered one.
func (s *placement) classOf(key routing.Key) *Class {
	class := key.Class()
	if c := s.classes.Named(class); c != nil {
		return c
	}
	if spec := s.memories[key].Class; spec != nil {
		return &Class{Name: class, LoadBalancerClassSpec: *spec}
	}
	return nil
}

// move makes an Ingress a member of a load balancer. It stays a member of the load balancers that
// it moves away from: of the last one, and of earlier ones if that move is not over.
func (s *placement) move(ing *networkingv1.Ingress, m Member, to *Snapshot,
	found []diag.Diagnostic) {
	trail := s.trails[nameOf(ing).String()]
	before := trail.Before(to.Key)
	if m.Move = trail.Home().Move; len(trail) > 0 && trail.Home().Key != to.Key {
		m.Move++
	}
	if len(before) > 0 {
		m.From = before[0].Key
	}
	if at := trail.At(to.Key); at >= 0 {
		m.Earlier = slices.DeleteFunc(trail[at].Leaving(),
			func(k routing.Key) bool { return k == m.From })
	}
	to.Add(ing, m, found)
	for _, home := range before {
		class := s.classOf(home.Key)
		if class == nil {
			continue
		}
		leaving, withdrawn, ok := s.leaving(m, home, class)
		to.Diagnostics = append(to.Diagnostics, withdrawn...)
		if ok {
			leaving.Vanished = m.Vanished
			s.snapshot(home.Key, class).Add(ing, leaving, nil)
		}
	}
}

// keepLastGood makes the last accepted version of an Ingress a member, and returns the snapshot of
// its load balancer; nil if no version was accepted. During a move, that may be the former load
// balancer.
func (s *placement) keepLastGood(ing *networkingv1.Ingress,
	found []diag.Diagnostic) *Snapshot {
	for _, home := range s.trails[nameOf(ing).String()] {
		class := s.classOf(home.Key)
		if home.LastAccepted == nil || class == nil {
			continue
		}
		last, withdrawn, ok := s.permittedVersion(ing, home, class)
		found = append(found, withdrawn...)
		if ok {
			snapshot := s.snapshot(home.Key, class)
			snapshot.TellKept(ing)
			s.move(ing, last, snapshot, found)
			return snapshot
		}
	}
	s.homeless = append(s.homeless, found...)
	return nil
}

// permittedVersion returns an Ingress as a member, as it was last accepted by a load balancer. If
// the class no longer permits that version, ok is false, the load balancer stops serving it, and
// there is a diagnostic.
func (s *placement) permittedVersion(ing *networkingv1.Ingress, home memory.Home,
	class *Class) (m Member, told []diag.Diagnostic, ok bool) {
	labels := s.NamespaceLabels(ing.Namespace)
	withdrawn := class.Excludes(home.Key, ing.Namespace, labels)
	if withdrawn == "" {
		m, withdrawn, ok = lastAccepted(class, home.Key, ing, home.LastAccepted)
	}
	if ok && denies(class, m, labels) != nil {
		ok, withdrawn = false, fmt.Sprintf("class %s does not let namespace %s serve any of its hosts",
			class.Name, ing.Namespace)
	}
	if withdrawn != "" {
		s.stopServing(home, class)
		told = []diag.Diagnostic{tellWithdrawn(ing, home.Key, withdrawn)}
	}
	return m, told, ok
}

// leaving returns an Ingress as a member of a load balancer that it moves away from. Until the move
// is over, that load balancer serves it as its own class reads it. If that class does not permit
// the present version, the last accepted one is served there. If that class excludes the namespace,
// the load balancer stops serving the Ingress.
func (s *placement) leaving(m Member, home memory.Home,
	class *Class) (out Member, told []diag.Diagnostic, ok bool) {
	if why := class.Excludes(home.Key, m.Namespace, s.NamespaceLabels(m.Namespace)); why != "" {
		s.stopServing(home, class)
		d := tellWithdrawn(m.Ingress, home.Key, why)
		d.Severity = diag.Warning
		return Member{}, []diag.Diagnostic{d}, false
	}
	given, _, ok := readServed(class, home.Key, m.Ingress)
	out = NewMember(m.Ingress, given)
	if !ok && home.LastAccepted != nil {
		out, told, ok = s.permittedVersion(m.Ingress, home, class)
	}
	if !ok {
		return Member{}, told, false
	}
	out.Leaving = true
	return out, nil, true
}

// permitsNoHost returns diagnostics for an Ingress of which the class permits no host, if the class
// still permits its last accepted version, which is served then. Otherwise it returns nil.
func (s *placement) permitsNoHost(m Member, class *Class,
	t memory.Trail) []diag.Diagnostic {
	denied := denies(class, m, s.NamespaceLabels(m.Namespace))
	if denied == nil {
		return nil
	}
	for _, home := range t {
		before := s.classOf(home.Key)
		if home.LastAccepted == nil || before == nil {
			continue
		}
		last, _, ok := lastAccepted(before, home.Key, m.Ingress, home.LastAccepted)
		if ok && before.Excludes(home.Key, m.Namespace, s.NamespaceLabels(m.Namespace)) == "" &&
			denies(before, last, s.NamespaceLabels(m.Namespace)) == nil {
			return denied
		}
	}
	return nil
}

// stopServing makes a load balancer stop serving a member that the class no longer permits.
func (s *placement) stopServing(home memory.Home, class *Class) {
	if home.Served {
		s.snapshot(home.Key, class).Withdrawn = true
	}
}
