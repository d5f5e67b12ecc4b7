package ingress

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/validate"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
)

// This file sorts Ingresses into load balancers.

// Place sorts Ingresses into load balancers, by key. The diagnostics are about Ingresses and
// classes without one; those about members are in their snapshots.
func Place(o Objects, options ClassOptions) ([]Snapshot, []diag.Diagnostic) {
	s := place(o, options)
	s.placeVanished(o.Ingresses)
	for _, snapshot := range s.snapshots {
		limitMembers(snapshot, cmp.Or(options.Room, mostMembers))
	}
	reportGroups(s.snapshots)
	reportNames(s.snapshots)
	out := make([]Snapshot, 0, len(s.snapshots))
	for _, key := range slices.Sorted(maps.Keys(s.snapshots)) {
		if snapshot := s.snapshots[key]; !snapshot.hasOnlyRefused() {
			out = append(out, s.finish(snapshot))
		}
	}
	for i, d := range s.unplaced {
		s.unplaced[i] = inAuthorsWords(s.readings[Name{d.Source.Namespace, d.Source.Name}], d)
	}
	return out, diag.Limit(s.unplaced)
}

// newPlacement returns a placement without Ingresses.
func newPlacement(o Objects, options ClassOptions) *placement {
	s := &placement{Index: newIndex(o), records: o.Records, memberships: record.MembershipsOf(o.Records),
		snapshots: map[routing.Key]*Snapshot{}, existing: options.Existing,
		balancers: map[string]map[routing.Key]bool{}, certificatesOf: options.CertificatesOf,
		worlds: map[string]any{}, everywhere: map[string][]*networkingv1.Ingress{}, nginx: options.NGINX, kept: options.Worlds,
		readings: map[Name]*dialect.Reading{}, authors: map[*networkingv1.Ingress]*networkingv1.Ingress{}}
	s.classes, s.unplaced = NewClassLookup(o, options)
	s.beside = byNamespace(slices.SortedFunc(slices.Values(slices.Concat(o.Ingresses, o.Beside)), older))
	return s
}

// place finds the load balancer of each Ingress.
func place(o Objects, options ClassOptions) *placement {
	s := newPlacement(o, options)
	for _, ing := range slices.SortedFunc(slices.Values(o.Ingresses), older) {
		if ing.DeletionTimestamp.IsZero() {
			s.place(s.read(ing))
		}
	}
	return s
}

// older compares Ingresses by age, and of the same age by name.
func older(a, b *networkingv1.Ingress) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		compareNames(nameOf(a), nameOf(b)))
}

// RefusedBy returns the refused Ingresses that belong to load balancers across namespaces, by load
// balancer. It is used for few Ingresses at a time.
func RefusedBy(o Objects, options ClassOptions) map[routing.Key][]Member {
	out := map[routing.Key][]Member{}
	for key, snapshot := range place(o, options).snapshots {
		if len(snapshot.Refused) > 0 {
			out[key] = snapshot.Refused
		}
	}
	return out
}

// place finds the load balancer of an Ingress: the wanted one, or, if the Ingress is refused, the
// one with its last accepted version.
func (s *placement) place(ing *networkingv1.Ingress) {
	memberships, remembered := s.memberships[nameOf(ing).String()]
	whose := s.classes.Of(ing, remembered)
	found := whose.Found
	switch {
	case whose.NotOurs != nil:
		s.serveDeparting(ing, *whose.NotOurs, found)
		return
	case whose.Problem != nil:
		found = append(found, *whose.Problem)
	default:
		key, member, more := s.admit(ing, whose.Class, memberships.Current())
		found = slices.Concat(found, more, s.tellReading(ing))
		if !hasError(found) {
			found = append(found, s.permitsNoHost(member, whose.Class, memberships)...)
		}
		if !hasError(found) {
			found = append(found, s.needsRoom(ing, key, whose.Class)...)
		}
		if !hasError(found) {
			s.move(ing, member, s.snapshot(key, whose.Class), found)
			return
		}
		if key.AcrossNamespaces() { // on others, hosts have no owners
			snapshot := s.snapshot(key, whose.Class)
			snapshot.Refused = append(snapshot.Refused, member)
		}
	}
	snapshot := s.keepLastGood(ing, found)
	if snapshot != nil && whose.Problem != nil && whose.Asked == snapshot.Key.Class() {
		snapshot.ClassLost = whose.Problem.Message
	}
}

// admit checks an Ingress of ours and finds its load balancer; "" if the class does not permit
// that. If a diagnostic is an error, the Ingress is refused.
func (s *placement) admit(ing *networkingv1.Ingress, class *Class,
	membership record.Membership) (routing.Key, Member, []diag.Diagnostic) {
	given, found := readAnnotations(ing, class)
	if errs := validate.Ingress(ing); len(errs) > 0 {
		found = validate.Refusals(sourceOfIngress(ing), errs)
	} else {
		if r := membership.Rejection(ing); r != nil {
			found = append(found, diag.Diagnostic{Severity: diag.Error, Reason: diag.Rejected,
				Source: sourceOfIngress(ing), Message: r.Message})
		}
		if refused := tooComplex(ing, given); refused != nil {
			found = append(found, *refused)
		}
	}
	key, refused := keyOf(class, ing, given, s.namespaceLabels(ing.Namespace))
	if refused != nil && !hasError(found) {
		found = append(found, *refused)
	}
	return key, NewMember(ing, given), found
}

// finish sorts a snapshot and adds the objects that its members depend on.
func (s *placement) finish(snapshot *Snapshot) Snapshot {
	slices.SortFunc(snapshot.Members,
		func(a, b Member) int { return routing.Older(a.Owner, b.Owner) })
	needed := newIndex(Objects{SecretsWithheld: s.SecretsWithheld,
		PodsKnown: s.PodsKnown, Awaited: s.Awaited})
	for m := range snapshot.versions() {
		needed.copyDependencies(s.Index, m)
	}
	snapshot.resolveOwners(s.Index, s.records)
	s.countCertificates(snapshot)
	ingresses := snapshot.Ingresses
	needed.Certificates = s.judgements(snapshot, needed)
	snapshot.Objects = needed.objects()
	snapshot.Ingresses = ingresses
	snapshot.Services = snapshot.Class.readServices(snapshot.Services)
	for _, m := range snapshot.Members {
		if reading := s.readings[nameOf(m.Ingress)]; reading != nil && reading.Ingress == m.Ingress {
			if snapshot.Readings == nil {
				snapshot.Readings = map[Name]*dialect.Reading{}
			}
			snapshot.Readings[nameOf(m.Ingress)] = reading
		}
	}
	if snapshot.NeedsNodes() {
		snapshot.Nodes = s.Nodes
	}
	return *snapshot
}

// judgements returns the parsed certificates of the Secrets of members, so that each is parsed once
// for all compiles of the snapshot.
func (s *placement) judgements(snapshot *Snapshot,
	needed *Index) map[*corev1.Secret]SecretCertificate {
	out := map[*corev1.Secret]SecretCertificate{}
	for m := range snapshot.versions() {
		for _, t := range m.Spec.TLS {
			if secret := needed.Secrets[Name{Namespace: m.Namespace,
				Name: t.SecretName}]; secret != nil && t.SecretName != "" {
				if _, known := out[secret]; !known {
					out[secret] = s.certificateOf(secret)
				}
			}
		}
	}
	return out
}
