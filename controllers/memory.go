package controllers

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/multimap"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
)

// This file keeps what is remembered of load balancers. Memory is never truth: to lose it loses
// last good versions, rejections until the cloud repeats them, and that an event was sent before.

// A record is the report on a load balancer, which is its memory too.
type record = v1alpha1.LoadBalancerStatus

// A keeper keeps records beyond the life of this process.
type keeper interface {
	load(ctx context.Context) (map[lb.Key]record, error)
	save(ctx context.Context, key lb.Key, r record) error
	drop(ctx context.Context, key lb.Key) error
	// claim is the first write of a plan: it fails where another operator works on the load balancer.
	claim(ctx context.Context, key lb.Key) error
	// overtaken reports whether another operator has claimed a load balancer since this one did.
	overtaken(ctx context.Context, key lb.Key) (bool, error)
	// missing reports, once, whether a record that was written is found to be gone, or one that is blank was never claimed.
	missing(key lb.Key, blank bool) bool
	// touched is the key of a record that somebody else changed; false for any other object.
	touched(o client.Object) (lb.Key, bool)
}

// memories are all records. They are read when they are first needed, which is after this replica
// became the leader: what the one before it wrote until then counts.
type memories struct {
	keeper  keeper
	follows bool          // what is remembered is for somebody else to say
	reading chan struct{} // holds one thing while the records are read

	mu      sync.Mutex
	records map[lb.Key]record         // nil before they are read
	parsed  map[lb.Key]ingress.Memory // what the compiler reads of them
	holders map[string]map[lb.Key]bool
}

// newMemories keeps records. With follows, another operator writes what is remembered.
func newMemories(k keeper, follows bool) *memories {
	return &memories{keeper: k, follows: follows, reading: make(chan struct{}, 1)}
}

// ready reads the records, once. Whoever else needs them meanwhile waits, no longer than its context
// lets it.
func (m *memories) ready(ctx context.Context) error {
	select {
	case m.reading <- struct{}{}:
		defer func() { <-m.reading }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if m.loaded() {
		return nil
	}
	records, err := m.keeper.load(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records, m.parsed, m.holders = map[lb.Key]record{}, map[lb.Key]ingress.Memory{}, map[string]map[lb.Key]bool{}
	for key, r := range records {
		m.put(key, r)
	}
	return nil
}

func (m *memories) loaded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.records != nil
}

// recall is the record of a load balancer. It is not to be changed.
func (m *memories) recall(key lb.Key) record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.records[key]
}

// memory is what the compiler reads of a record at a time. It is not to be changed either.
func (m *memories) memory(key lb.Key, now time.Time) ingress.Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.read(key, now)
}

// read makes a memory anew where some of it has an end.
func (m *memories) read(key lb.Key, now time.Time) ingress.Memory {
	r := m.records[key]
	ends := func(r v1alpha1.Rejection) bool { return r.Until != nil }
	reserved := func(h v1alpha1.HostOwner) bool { return h.Until != nil }
	changes := func(m v1alpha1.MemberMemory) bool {
		return m.DepartedAt != nil || m.VanishedAt != nil || slices.ContainsFunc(m.Rejections, ends)
	}
	if slices.ContainsFunc(r.Memory.Hosts, reserved) || slices.ContainsFunc(r.Memory.Members, changes) {
		return memoryOf(r, now)
	}
	return m.parsed[key]
}

// keys are those of all records.
func (m *memories) keys() []lb.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.records))
}

// namesakes are the other load balancers that are to have the name of one.
func (m *memories) namesakes(key lb.Key) []lb.Key {
	return slices.DeleteFunc(m.keys(), func(k lb.Key) bool { return k == key || k.Name() == "" || k.Name() != key.Name() })
}

// all are all records, which are not to be changed; nil before they are read.
func (m *memories) all() map[lb.Key]record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.records)
}

// holding are the load balancers that remember an Ingress, by namespace/name.
func (m *memories) holding(member string) []lb.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.holders[member]))
}

// about is what the compiler needs to know about some Ingresses: every Memory that has one of them,
// without the others that it has.
func (m *memories) about(members []string, now time.Time) map[lb.Key]ingress.Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, out := map[lb.Key]ingress.Memory{}, map[lb.Key]ingress.Memory{}
	for _, member := range members {
		for key := range m.holders[member] {
			if _, ok := known[key]; !ok {
				known[key] = m.read(key, now)
				out[key] = ingress.Memory{Class: known[key].Class, Hosts: known[key].Hosts, Members: map[string]ingress.Remembered{}}
			}
			out[key].Members[member] = known[key].Members[member]
		}
	}
	return out
}

// addPinned adds to what the compiler needs to know that a class is remembered with parameters, if it is.
func (m *memories) addPinned(class string, to map[lb.Key]ingress.Memory) {
	if class == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, known := range m.parsed {
		if _, there := to[key]; !there && key.Class() == class && known.Class != nil {
			to[key] = ingress.Memory{Class: known.Class}
		}
	}
}

// keep replaces a record, here and where it outlives this process.
func (m *memories) keep(ctx context.Context, key lb.Key, r record) error {
	if err := m.keeper.save(ctx, key, r); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.follows {
		r.Memory = m.records[key].Memory
	}
	m.put(key, r)
	return nil
}

// follow notes what somebody else remembers of a load balancer by now, and reports whether that is news.
func (m *memories) follow(key lb.Key, known v1alpha1.Memory) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.records[key]
	if m.records == nil || equality.Semantic.DeepEqual(r.Memory, known) {
		return false
	}
	r.Memory = known
	m.put(key, r)
	return true
}

// drop forgets a load balancer that is no more.
func (m *memories) drop(ctx context.Context, key lb.Key) error {
	if err := m.keeper.drop(ctx, key); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(key, record{})
	delete(m.records, key)
	delete(m.parsed, key)
	return nil
}

func (m *memories) put(key lb.Key, r record) {
	for _, member := range m.records[key].Memory.Members {
		multimap.Remove(m.holders, member.Ingress, key)
	}
	m.records[key], m.parsed[key] = r, memoryOf(r, time.Time{})
	for _, member := range r.Memory.Members {
		multimap.Add(m.holders, member.Ingress, key)
	}
}

// Remembered is what the operator of a namespace, or of all, remembers of its load balancers: with it somebody
// else compiles as that one does. A cluster where there never was one has no kind to keep it in.
func Remembered(ctx context.Context, cluster client.Reader, namespace string) (map[lb.Key]ingress.Memory, error) {
	records, err := newArchive(cluster, nil, namespace).load(ctx)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := make(map[lb.Key]ingress.Memory, len(records))
	for key, r := range records {
		out[key] = memoryOf(r, time.Now())
	}
	return out, nil
}

// memoryOf is the part of a record that the compiler reads, without what had ended by a time.
func memoryOf(r record, now time.Time) ingress.Memory {
	out := ingress.Memory{
		Class: r.Memory.Class, Members: map[string]ingress.Remembered{}, Certificates: map[string]lb.CertificateID{}, CloudCertificates: map[lb.CertificateID][]string{}, Clients: map[string]string{}, Rules: r.Memory.Rules,
		Hosts: ownersOf(r.Memory.Hosts, now), Yielding: yieldingOf(r.Memory.Hosts),
	}
	for _, m := range r.Memory.Members {
		known := ingress.Remembered{Previous: lb.Key(m.Previous), Move: m.Move, Served: m.Served}
		if m.DepartedAt != nil {
			known.Departed = max(0, now.Sub(m.DepartedAt.Time))
		}
		if m.VanishedAt != nil {
			known.Vanished = &ingress.Vanishing{For: max(0, now.Sub(m.VanishedAt.Time)), Unconfirmed: m.Unconfirmed}
		}
		for _, key := range m.Earlier {
			known.Earlier = append(known.Earlier, lb.Key(key))
		}
		if v := m.LastAccepted; v != nil {
			known.LastAccepted = &ingress.Accepted{Annotations: v.Annotations, Spec: v.Spec}
			if known.Created = v.Created.Time; known.Created.IsZero() {
				known.Created = v.At.Time // an earlier version has not written when it was made, which was before
			}
		}
		for _, x := range m.Rejections {
			if over(x, now) {
				continue
			}
			known.Rejections = append(known.Rejections, ingress.Rejection{Version: x.Version, Message: x.Message})
		}
		out.Members[m.Ingress] = known
	}
	for _, c := range r.Memory.Certificates {
		out.Certificates[c.Secret] = lb.CertificateID(c.ID)
	}
	for _, c := range r.Memory.CloudCertificates {
		out.CloudCertificates[lb.CertificateID(c.ID)] = c.Hosts
	}
	for _, c := range r.Memory.Clients {
		out.Clients[c.Secret] = c.ID
	}
	return out
}

// memberOf is what a record has of an Ingress; nil for nothing.
func memberOf(r *record, member string) *v1alpha1.MemberMemory {
	at, found := slices.BinarySearchFunc(r.Memory.Members, member, func(m v1alpha1.MemberMemory, member string) int {
		return cmp.Compare(m.Ingress, member)
	})
	if !found {
		return nil
	}
	return &r.Memory.Members[at]
}

// sortMembers makes the members of a record ready to be searched, as those of every record are.
func sortMembers(r *record) {
	slices.SortFunc(r.Memory.Members, func(a, b v1alpha1.MemberMemory) int { return cmp.Compare(a.Ingress, b.Ingress) })
}

// over reports whether a rejection has ended.
func over(r v1alpha1.Rejection, now time.Time) bool {
	return r.Until != nil && !now.Before(r.Until.Time)
}
