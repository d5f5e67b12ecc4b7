package ingress

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/validate"
	"fairlead.dev/fairlead/model/memory"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/secrets"
)

// This file sorts Ingresses into load balancers.

// Split sorts Ingresses into load balancers, by key. The diagnostics are about what belongs to
// none; those about members are in their snapshots.
func Split(o Objects, options Options) ([]Snapshot, []diag.Diagnostic) {
	s := split(o, options)
	s.placeVanished(o.Ingresses)
	for _, snapshot := range s.snapshots {
		limitMembers(snapshot, cmp.Or(options.Room, mostMembers))
	}
	tellGroups(s.snapshots)
	out := make([]Snapshot, 0, len(s.snapshots))
	for _, key := range slices.Sorted(maps.Keys(s.snapshots)) {
		if snapshot := s.snapshots[key]; !snapshot.onlyRefused() {
			out = append(out, s.finish(snapshot))
		}
	}
	return out, diag.Limit(s.homeless)
}

// split finds the load balancer of each Ingress.
func split(o Objects, options Options) *splitter {
	s := &splitter{index: newIndex(o), memories: o.Memories, trails: memory.Trails(o.Memories), snapshots: map[routing.Key]*Snapshot{}}
	s.classes, s.homeless = newClasses(o, options)
	for _, ing := range slices.SortedFunc(slices.Values(o.Ingresses), func(a, b *networkingv1.Ingress) int { return compareNames(nameOf(a), nameOf(b)) }) {
		if ing.DeletionTimestamp.IsZero() {
			s.place(ing)
		}
	}
	return s
}

// RefusedBy are the Ingresses that are refused and name hosts of load balancers that have owners of
// hosts, by these load balancers. It is asked about few Ingresses at a time.
func RefusedBy(o Objects, options Options) map[routing.Key][]Member {
	out := map[routing.Key][]Member{}
	for key, snapshot := range split(o, options).snapshots {
		if len(snapshot.Refused) > 0 {
			out[key] = snapshot.Refused
		}
	}
	return out
}

// place finds the load balancer of an Ingress: the one that it asks for, or, where what it asks
// for is refused, the one that remembers a version of it that was accepted.
func (s *splitter) place(ing *networkingv1.Ingress) {
	trail, remembered := s.trails[nameOf(ing).String()]
	whose := s.classes.of(ing, remembered)
	found := whose.found
	switch {
	case whose.other != nil:
		s.depart(ing, *whose.other, found)
		return
	case whose.lost != nil:
		found = append(found, *whose.lost)
	default:
		key, member, more := s.admit(ing, whose.class, trail.Home())
		found = append(found, more...)
		if !failed(found) {
			found = append(found, s.overreach(member, whose.class, trail)...)
		}
		if !failed(found) {
			s.move(ing, member, s.snapshot(key, whose.class), found)
			return
		}
		if key.AcrossNamespaces() { // elsewhere hosts have no owners
			snapshot := s.snapshot(key, whose.class)
			snapshot.Refused = append(snapshot.Refused, member)
		}
	}
	snapshot := s.keepLastGood(ing, found)
	if snapshot != nil && whose.lost != nil && whose.asked == snapshot.Key.Class() {
		snapshot.ClassLost = whose.lost.Message
	}
}

// admit checks an Ingress of ours and finds its load balancer; "" if the class does not let it have
// that. An error among the diagnostics means that it is refused.
func (s *splitter) admit(ing *networkingv1.Ingress, class *Class, home memory.Home) (routing.Key, Member, []diag.Diagnostic) {
	given, found := readAnnotations(ing, class)
	if errs := validate.Ingress(ing); len(errs) > 0 {
		found = validate.Refusals(sourceOf(ing), errs)
	} else {
		if r := home.Rejection(ing); r != nil {
			found = append(found, diag.Diagnostic{Severity: diag.Error, Reason: diag.Rejected, Source: sourceOf(ing), Message: r.Message})
		}
		if refused := tooComplex(class, ing, given); refused != nil {
			found = append(found, *refused)
		}
	}
	key, refused := keyOf(class, ing, given, s.labels(ing.Namespace))
	if refused != nil && !failed(found) {
		found = append(found, *refused)
	}
	return key, newMember(ing, given), found
}

// finish sorts a snapshot and adds what its members depend on.
func (s *splitter) finish(snapshot *Snapshot) Snapshot {
	slices.SortFunc(snapshot.Members, func(a, b Member) int { return routing.Older(a.Owner, b.Owner) })
	needed := newIndex(Objects{SecretsWithheld: s.withheld, PodsKnown: s.podsKnown, Awaited: s.awaited})
	for _, m := range slices.Concat(snapshot.Members, snapshot.before()) {
		needed.take(s.index, m.Ingress)
	}
	if snapshot.NeedsNodes() {
		needed.nodes = s.nodes
	}
	snapshot.resolveOwners(s.index, s.memories)
	ingresses := snapshot.Ingresses
	needed.judged = s.judgements(snapshot, needed)
	snapshot.Objects = needed.objects()
	snapshot.Ingresses = ingresses
	return *snapshot
}

// judgements are those of the Secrets that members take certificates from, so that each is judged
// once however often the snapshot is compiled.
func (s *splitter) judgements(snapshot *Snapshot, needed *index) map[*corev1.Secret]secrets.Certificate {
	out := map[*corev1.Secret]secrets.Certificate{}
	for _, m := range slices.Concat(snapshot.Members, snapshot.before()) {
		for _, t := range m.Spec.TLS {
			if secret := needed.secrets[name{m.Namespace, t.SecretName}]; secret != nil && t.SecretName != "" {
				if _, known := out[secret]; !known {
					out[secret] = s.judge(secret)
				}
			}
		}
	}
	return out
}
