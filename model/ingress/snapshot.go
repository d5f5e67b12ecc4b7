package ingress

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/foreign"
	"fairlead.dev/fairlead/model/ingress/validate"
	"fairlead.dev/fairlead/model/memory"
	"fairlead.dev/fairlead/model/ownership"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/secrets"
	"fairlead.dev/fairlead/model/settings"
)

// A Snapshot is everything that one load balancer depends on. Split makes them.
type Snapshot struct {
	Key     routing.Key
	Class   Class
	Members []Member // oldest first
	Memory  memory.LoadBalancer
	// Objects are the members' Ingresses as they are, and what they refer to.
	Objects
	// Diagnostics are what was found on the way here.
	Diagnostics []diag.Diagnostic
	// ClassLost is why the class cannot be used: what was accepted under it is frozen. "" if it can.
	ClassLost string
	// Withdrawn says that the class does not permit any more what the load balancer served of an
	// Ingress: nothing of that stays, though the load balancer may have to.
	Withdrawn bool
	// LeftOut are the Ingresses for which there is no room on the load balancer. They are no members.
	LeftOut []*networkingv1.Ingress
	// Refused are Ingresses that ask for the load balancer as they are, and are refused. They are no
	// members, or members as they were last accepted. The hosts that they name are theirs all the
	// same.
	Refused []Member

	owners    *ownership.Owners // of hosts; nil where they have none
	annotated map[*corev1.Service]*foreign.Annotations
}

// A Member is an Ingress of a load balancer.
type Member struct {
	*networkingv1.Ingress // the version to compile: as it is, or as it was last accepted
	Owner                 routing.Owner
	// Leaving says that the Ingress belongs to another load balancer now, or to none, but that this
	// one serves it too until clients have had the time to follow.
	Leaving bool
	// Departing says of one that is Leaving that it names no class of ours any more.
	Departing bool
	// Vanished says that the Ingress is gone without having been let go of. It is not among the
	// objects.
	Vanished bool
	// Unserved says that nothing of it is served, and that only its settings of the whole load
	// balancer count.
	Unserved bool
	// From is the load balancer that the Ingress comes from, until it has left that, and Move the
	// number of the move. Earlier are others that it was leaving for this one when it went from here.
	From    routing.Key
	Earlier []routing.Key
	Move    int32

	settings settings.Values
}

// Split sorts Ingresses into load balancers, by key. The diagnostics are about what belongs to
// none; those about members are in their snapshots.
func Split(o Objects, options Options) ([]Snapshot, []diag.Diagnostic) {
	s := split(o, options)
	s.placeVanished(o.Ingresses)
	for _, snapshot := range s.snapshots {
		snapshot.crowd(cmp.Or(options.Room, mostMembers))
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

// onlyRefused reports whether all that ask for the load balancer are refused, so that there is
// none.
func (s *Snapshot) onlyRefused() bool {
	return len(s.Refused) > 0 && len(s.Members) == 0 && !s.Withdrawn
}

type splitter struct {
	*index
	classes   *classes
	memories  map[routing.Key]memory.LoadBalancer
	trails    map[string]memory.Trail
	snapshots map[routing.Key]*Snapshot
	homeless  []diag.Diagnostic // about Ingresses that belong to no load balancer
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
		if refused := class.tooComplex(ing, given); refused != nil {
			found = append(found, *refused)
		}
	}
	key, refused := class.keyOf(ing, given, s.labels(ing.Namespace))
	if refused != nil && !failed(found) {
		found = append(found, *refused)
	}
	return key, newMember(ing, given), found
}

func newMember(ing *networkingv1.Ingress, s settings.Values) Member {
	return Member{
		Ingress:  ing,
		Owner:    routing.Owner{Namespace: ing.Namespace, Name: ing.Name, Created: ing.CreationTimestamp.Time, Order: s.Order},
		settings: s,
	}
}

// snapshot is that of a load balancer, as far as it has been gathered.
func (s *splitter) snapshot(key routing.Key, class *Class) *Snapshot {
	snapshot := s.snapshots[key]
	if snapshot == nil {
		snapshot = &Snapshot{Key: key, Class: *class, Memory: s.memories[key]}
		s.snapshots[key] = snapshot
	}
	return snapshot
}

// join makes an Ingress a member.
func (s *Snapshot) join(ing *networkingv1.Ingress, m Member, found []diag.Diagnostic) {
	s.Members = append(s.Members, m)
	if !m.Vanished {
		s.Ingresses = append(s.Ingresses, ing)
	}
	s.Diagnostics = append(s.Diagnostics, found...)
}

// move makes an Ingress a member of a load balancer, and keeps it in those that it moves away from:
// its old home, and where it has yet to leave another one for that, there too.
func (s *splitter) move(ing *networkingv1.Ingress, m Member, to *Snapshot, found []diag.Diagnostic) {
	trail := s.trails[nameOf(ing).String()]
	before := trail.Before(to.Key)
	if m.Move = trail.Home().Move; len(trail) > 0 && trail.Home().Key != to.Key {
		m.Move++
	}
	if len(before) > 0 {
		m.From = before[0].Key
	}
	if at := trail.At(to.Key); at >= 0 {
		m.Earlier = slices.DeleteFunc(trail[at].Leaving(), func(k routing.Key) bool { return k == m.From })
	}
	to.join(ing, m, found)
	for _, home := range before {
		class := s.classOf(home.Key)
		if class == nil {
			continue
		}
		leaving, withdrawn, ok := s.leaving(m, home, class)
		to.Diagnostics = append(to.Diagnostics, withdrawn...)
		if ok {
			leaving.Vanished = m.Vanished
			s.snapshot(home.Key, class).join(ing, leaving, nil)
		}
	}
}

// keepLastGood falls back to the version of an Ingress that was last accepted, and returns where;
// nil if none was. In the middle of a move that may be where it comes from.
func (s *splitter) keepLastGood(ing *networkingv1.Ingress, found []diag.Diagnostic) *Snapshot {
	for _, home := range s.trails[nameOf(ing).String()] {
		class := s.classOf(home.Key)
		if home.LastAccepted == nil || class == nil {
			continue
		}
		last, withdrawn, ok := s.stillGood(ing, home, class)
		found = append(found, withdrawn...)
		if ok {
			snapshot := s.snapshot(home.Key, class)
			snapshot.tellKept(ing)
			s.move(ing, last, snapshot, found)
			return snapshot
		}
	}
	s.homeless = append(s.homeless, found...)
	return nil
}

// classOf is the class of a load balancer that exists: as it is, or else as it is remembered.
func (s *splitter) classOf(key routing.Key) *Class {
	class := key.Class()
	if c := s.classes.named(class); c != nil {
		return c
	}
	if spec := s.memories[key].Class; spec != nil {
		return &Class{class, *spec}
	}
	return nil
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

// before are the members as they were last accepted. What these depend on has to be at hand, too:
// what is served stays, where a change of it does not fit.
func (s Snapshot) before() []Member { return s.Refuse(s.Changes()).Members }

// NeedsNodes reports whether requests of some member are sent to Nodes.
func (s Snapshot) NeedsNodes() bool {
	return slices.ContainsFunc(slices.Concat(s.Members, s.before()), func(m Member) bool { return m.settings.TargetType == v1alpha1.TargetTypeInstance })
}

// sourceOf is where diagnostics about an Ingress point.
func sourceOf(ing *networkingv1.Ingress) diag.Source {
	return diag.Source{Kind: "Ingress", Namespace: ing.Namespace, Name: ing.Name}
}

// failed reports whether there is an error among diagnostics.
func failed(found []diag.Diagnostic) bool {
	return slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
}
