package ingress

import (
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/dialect/nginx"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
)

// This file collects the members of load balancers. The last accepted version of a refused Ingress
// stays a member, if the class still permits it.

// A placement makes the snapshots of all load balancers.
type placement struct {
	*Index
	classes     *ClassLookup
	records     map[routing.Key]record.Record
	memberships map[string]record.Memberships
	snapshots   map[routing.Key]*Snapshot
	// balancers has the load balancers of tenants whose class has a bound; true for those that an
	// Ingress belongs to.
	balancers map[string]map[routing.Key]bool
	existing  func(tenant string) map[routing.Key]bool
	// certificatesOf counts the certificates of Secrets of a namespace, by load balancer.
	certificatesOf func(namespace string) map[routing.Key]int
	unplaced       []diag.Diagnostic                  // about Ingresses that belong to no load balancer
	beside         map[string][]*networkingv1.Ingress // Ingresses by namespace
	worlds         map[string]any                     // of dialects
	everywhere     map[string][]*networkingv1.Ingress // Ingresses by class
	nginx          nginx.Memory
	kept           *KeptWorlds
	readings       map[Name]*dialect.Reading                       // of classes with a dialect
	authors        map[*networkingv1.Ingress]*networkingv1.Ingress // the objects that were read
}

// snapshot returns the snapshot of a load balancer with the members so far.
func (s *placement) snapshot(key routing.Key, class *Class) *Snapshot {
	snapshot := s.snapshots[key]
	if snapshot == nil {
		snapshot = &Snapshot{Key: key, Class: *class, Recorded: s.records[key]}
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
	if spec := s.records[key].Class; spec != nil {
		return &Class{Name: class, LoadBalancerClassSpec: *spec}
	}
	return nil
}

// move makes an Ingress a member of a load balancer. It stays a member of the load balancers that
// it moves away from: of the last one, and of earlier ones if that move is not over.
func (s *placement) move(ing *networkingv1.Ingress, m Member, to *Snapshot,
	found []diag.Diagnostic) {
	memberships := s.memberships[nameOf(ing).String()]
	before := memberships.Before(to.Key)
	if m.Move = memberships.Current().Move; len(memberships) > 0 && memberships.Current().Key != to.Key {
		m.Move++
	}
	if len(before) > 0 {
		m.From = before[0].Key
	}
	if at := memberships.At(to.Key); at >= 0 {
		m.Earlier = slices.DeleteFunc(memberships[at].Leaving(),
			func(k routing.Key) bool { return k == m.From })
	}
	to.Add(s.author(ing), m, found)
	for _, membership := range before {
		class := s.classOf(membership.Key)
		if class == nil {
			continue
		}
		leaving, withdrawn, ok := s.leaving(m, membership, class)
		to.Diagnostics = append(to.Diagnostics, withdrawn...)
		if ok {
			leaving.Vanished = m.Vanished
			s.snapshot(membership.Key, class).Add(s.author(ing), leaving, nil)
		}
	}
}

// keepLastGood makes the last accepted version of an Ingress a member, and returns the snapshot of
// its load balancer; nil if no version was accepted. During a move, that may be the former load
// balancer.
func (s *placement) keepLastGood(ing *networkingv1.Ingress,
	found []diag.Diagnostic) *Snapshot {
	for _, membership := range s.memberships[nameOf(ing).String()] {
		class := s.classOf(membership.Key)
		if membership.LastAccepted == nil || class == nil {
			continue
		}
		last, withdrawn, ok := s.permittedVersion(ing, membership, class)
		found = append(found, withdrawn...)
		if ok {
			snapshot := s.snapshot(membership.Key, class)
			snapshot.addKept(ing)
			s.move(ing, last, snapshot, found)
			return snapshot
		}
	}
	s.unplaced = append(s.unplaced, found...)
	return nil
}

// permittedVersion returns an Ingress as a member, as it was last accepted by a load balancer. If
// the class no longer permits that version, ok is false, the load balancer stops serving it, and
// there is a diagnostic.
func (s *placement) permittedVersion(ing *networkingv1.Ingress, membership record.Membership,
	class *Class) (m Member, notes []diag.Diagnostic, ok bool) {
	labels := s.namespaceLabels(ing.Namespace)
	withdrawn := class.excludes(membership.Key, ing.Namespace, labels)
	if withdrawn == "" {
		m, withdrawn, ok = lastAccepted(class, membership.Key, ing, membership.LastAccepted)
	}
	if ok && denies(class, m, labels) != nil {
		ok, withdrawn = false, fmt.Sprintf("class %s does not let namespace %s serve any of its hosts",
			class.Name, ing.Namespace)
	}
	if withdrawn != "" {
		s.stopServing(membership, class)
		notes = []diag.Diagnostic{tellWithdrawn(ing, membership.Key, withdrawn)}
	}
	return m, notes, ok
}

// leaving returns an Ingress as a member of a load balancer that it moves away from. Until the move
// is over, that load balancer serves it as its own class reads it. If that class does not permit
// the present version, the last accepted one is served there. If that class excludes the namespace,
// the load balancer stops serving the Ingress.
func (s *placement) leaving(m Member, membership record.Membership,
	class *Class) (out Member, notes []diag.Diagnostic, ok bool) {
	if why := class.excludes(membership.Key, m.Namespace, s.namespaceLabels(m.Namespace)); why != "" {
		s.stopServing(membership, class)
		d := tellWithdrawn(m.Ingress, membership.Key, why)
		d.Severity = diag.Warning
		return Member{}, []diag.Diagnostic{d}, false
	}
	given, _, ok := readServed(class, membership.Key, m.Ingress)
	out = NewMember(m.Ingress, given)
	if !ok && membership.LastAccepted != nil {
		out, notes, ok = s.permittedVersion(m.Ingress, membership, class)
	}
	if !ok {
		return Member{}, notes, false
	}
	out.Leaving = true
	return out, nil, true
}

// permitsNoHost returns diagnostics for an Ingress of which the class permits no host, if the class
// still permits its last accepted version, which is served then. Otherwise it returns nil.
func (s *placement) permitsNoHost(m Member, class *Class,
	t record.Memberships) []diag.Diagnostic {
	denied := denies(class, m, s.namespaceLabels(m.Namespace))
	if denied == nil {
		return nil
	}
	for _, membership := range t {
		before := s.classOf(membership.Key)
		if membership.LastAccepted == nil || before == nil {
			continue
		}
		last, _, ok := lastAccepted(before, membership.Key, m.Ingress, membership.LastAccepted)
		if ok && before.excludes(membership.Key, m.Namespace, s.namespaceLabels(m.Namespace)) == "" &&
			denies(before, last, s.namespaceLabels(m.Namespace)) == nil {
			return denied
		}
	}
	return nil
}

// stopServing makes a load balancer stop serving a member that the class no longer permits.
func (s *placement) stopServing(membership record.Membership, class *Class) {
	if membership.Served {
		s.snapshot(membership.Key, class).Withdrawn = true
	}
}
