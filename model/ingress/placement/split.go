package placement

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/annotations"
	"fairlead.dev/fairlead/model/ingress/classes"
	"fairlead.dev/fairlead/model/ingress/members"
	"fairlead.dev/fairlead/model/ingress/objects"
	"fairlead.dev/fairlead/model/ingress/snapshots"
	"fairlead.dev/fairlead/model/ingress/validate"
	"fairlead.dev/fairlead/model/memory"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/secrets"
)

// This file sorts Ingresses into load balancers.

// Split sorts Ingresses into load balancers, by key. The diagnostics are about Ingresses and
// classes without one; those about members are in their snapshots.
func Split(o objects.Objects, options classes.Options) ([]snapshots.Snapshot, []diag.Diagnostic) {
	s := split(o, options)
	s.placeVanished(o.Ingresses)
	for _, snapshot := range s.snapshots {
		limitMembers(snapshot, cmp.Or(options.Room, mostMembers))
	}
	reportGroups(s.snapshots)
	out := make([]snapshots.Snapshot, 0, len(s.snapshots))
	for _, key := range slices.Sorted(maps.Keys(s.snapshots)) {
		if snapshot := s.snapshots[key]; !snapshot.HasOnlyRefused() {
			out = append(out, s.finish(snapshot))
		}
	}
	return out, diag.Limit(s.homeless)
}

// split finds the load balancer of each Ingress.
func split(o objects.Objects, options classes.Options) *splitter {
	s := &splitter{Index: objects.NewIndex(o), memories: o.Memories, trails: memory.Trails(o.Memories),
		snapshots: map[routing.Key]*snapshots.Snapshot{}, existing: options.Existing,
		balancers: map[string]map[routing.Key]bool{}, certificatesOf: options.CertificatesOf}
	s.classes, s.homeless = classes.NewLookup(o, options)
	for _, ing := range slices.SortedFunc(slices.Values(o.Ingresses), older) {
		if ing.DeletionTimestamp.IsZero() {
			s.place(ing)
		}
	}
	return s
}

// older compares Ingresses by age, and of the same age by name.
func older(a, b *networkingv1.Ingress) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		objects.CompareNames(objects.NameOf(a), objects.NameOf(b)))
}

// RefusedBy returns the refused Ingresses that belong to load balancers across namespaces, by load
// balancer. It is used for few Ingresses at a time.
func RefusedBy(o objects.Objects, options classes.Options) map[routing.Key][]members.Member {
	out := map[routing.Key][]members.Member{}
	for key, snapshot := range split(o, options).snapshots {
		if len(snapshot.Refused) > 0 {
			out[key] = snapshot.Refused
		}
	}
	return out
}

// place finds the load balancer of an Ingress: the wanted one, or, if the Ingress is refused, the
// one with its last accepted version.
func (s *splitter) place(ing *networkingv1.Ingress) {
	trail, remembered := s.trails[objects.NameOf(ing).String()]
	whose := s.classes.Of(ing, remembered)
	found := whose.Found
	switch {
	case whose.NotOurs != nil:
		s.serveDeparting(ing, *whose.NotOurs, found)
		return
	case whose.Problem != nil:
		found = append(found, *whose.Problem)
	default:
		key, member, more := s.admit(ing, whose.Class, trail.Home())
		found = append(found, more...)
		if !objects.HasError(found) {
			found = append(found, s.permitsNoHost(member, whose.Class, trail)...)
		}
		if !objects.HasError(found) {
			found = append(found, s.needsRoom(ing, key, whose.Class)...)
		}
		if !objects.HasError(found) {
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
func (s *splitter) admit(ing *networkingv1.Ingress, class *classes.Class,
	home memory.Home) (routing.Key, members.Member, []diag.Diagnostic) {
	given, found := annotations.Read(ing, class)
	if errs := validate.Ingress(ing); len(errs) > 0 {
		found = validate.Refusals(objects.SourceOf(ing), errs)
	} else {
		if r := home.Rejection(ing); r != nil {
			found = append(found, diag.Diagnostic{Severity: diag.Error, Reason: diag.Rejected,
				Source: objects.SourceOf(ing), Message: r.Message})
		}
		if refused := members.TooComplex(class, ing, given); refused != nil {
			found = append(found, *refused)
		}
	}
	key, refused := keyOf(class, ing, given, s.NamespaceLabels(ing.Namespace))
	if refused != nil && !objects.HasError(found) {
		found = append(found, *refused)
	}
	return key, members.New(ing, given), found
}

// finish sorts a snapshot and adds the objects that its members depend on.
func (s *splitter) finish(snapshot *snapshots.Snapshot) snapshots.Snapshot {
	slices.SortFunc(snapshot.Members,
		func(a, b members.Member) int { return routing.Older(a.Owner, b.Owner) })
	needed := objects.NewIndex(objects.Objects{SecretsWithheld: s.SecretsWithheld,
		PodsKnown: s.PodsKnown, Awaited: s.Awaited})
	for m := range snapshot.Versions() {
		needed.CopyDependencies(s.Index, m.Ingress)
	}
	if snapshot.NeedsNodes() {
		needed.Nodes = s.Nodes
	}
	snapshot.ResolveOwners(s.Index, s.memories)
	s.countCertificates(snapshot)
	ingresses := snapshot.Ingresses
	needed.Judged = s.judgements(snapshot, needed)
	snapshot.Objects = needed.Objects()
	snapshot.Ingresses = ingresses
	return *snapshot
}

// judgements returns the parsed certificates of the Secrets of members, so that each is parsed once
// for all compiles of the snapshot.
func (s *splitter) judgements(snapshot *snapshots.Snapshot,
	needed *objects.Index) map[*corev1.Secret]secrets.Certificate {
	out := map[*corev1.Secret]secrets.Certificate{}
	for m := range snapshot.Versions() {
		for _, t := range m.Spec.TLS {
			if secret := needed.Secrets[objects.Name{Namespace: m.Namespace,
				Name: t.SecretName}]; secret != nil && t.SecretName != "" {
				if _, known := out[secret]; !known {
					out[secret] = s.CertificateOf(secret)
				}
			}
		}
	}
	return out
}
