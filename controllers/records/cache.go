// Package records keeps a record of each load balancer: the report on it, and what one reconcile
// passes to the next. It is the status of a LoadBalancer object.
package records

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
)

// This file holds the records of all load balancers. A record is never the truth about the cloud.
// If a record is lost, so are the last accepted versions, the rejections until the cloud repeats them,
// and the list of sent events.

// A Record is the record of a load balancer as it is stored: the status of its LoadBalancer object.
// Parse returns the part that the compiler reads.
type Record = v1alpha1.LoadBalancerStatus

// A Store stores records beyond the life of a process.
type Store interface {
	Load(ctx context.Context) (map[lb.Key]Record, error)
	Save(ctx context.Context, key lb.Key, r Record) error
	Drop(ctx context.Context, key lb.Key) error
	// Claim is the first write of a plan. It fails if another operator works on the load balancer.
	Claim(ctx context.Context, key lb.Key) error
	// Overtaken reports whether another operator has claimed a load balancer since this one did.
	Overtaken(ctx context.Context, key lb.Key) (bool, error)
	// Missing reports once that a written record was deleted, or that a blank one was never claimed.
	Missing(key lb.Key, blank bool) bool
	// KeyOfChanged returns the key of a record that another writer has changed; false for any other
	// object.
	KeyOfChanged(o client.Object) (lb.Key, bool)
}

// A Cache holds all records. They are first read after this replica has the lease, so that it reads
// the writes of the last leader.
type Cache struct {
	Store   Store
	follows bool          // another operator writes what the compiler reads
	reading chan struct{} // has an element while the records are read

	mu      sync.Mutex
	records map[lb.Key]Record        // nil before they are read
	parsed  map[lb.Key]record.Record // their parts for the compiler
	holders cluster.Multimap[string, lb.Key]
	tenants cluster.Multimap[string, lb.Key] // as Key.Tenant names them
	// certificates counts those of Secrets, by namespace and load balancer.
	certificates map[string]map[lb.Key]int
}

// NewCache returns a cache of records. With follows, another operator writes what the compiler reads.
func NewCache(k Store, follows bool) *Cache {
	return &Cache{Store: k, follows: follows, reading: make(chan struct{}, 1)}
}

// Ready reads the records once. Callers wait until their contexts end.
func (m *Cache) Ready(ctx context.Context) error {
	select {
	case m.reading <- struct{}{}:
		defer func() { <-m.reading }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if m.loaded() {
		return nil
	}
	records, err := m.Store.Load(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records, m.parsed = map[lb.Key]Record{}, map[lb.Key]record.Record{}
	m.holders, m.tenants = cluster.Multimap[string, lb.Key]{}, cluster.Multimap[string, lb.Key]{}
	m.certificates = map[string]map[lb.Key]int{}
	for key, r := range records {
		m.put(key, r)
	}
	return nil
}

func (m *Cache) loaded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.records != nil
}

// Get returns the record of a load balancer. The caller must not change it.
func (m *Cache) Get(key lb.Key) Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.records[key]
}

// Parsed returns what the compiler reads of a record, as it is at a time. The caller must not change
// it.
func (m *Cache) Parsed(key lb.Key, now time.Time) record.Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.read(key, now)
}

// read parses a record again if a part of it has ended by a time.
func (m *Cache) read(key lb.Key, now time.Time) record.Record {
	r := m.records[key]
	ends := func(r v1alpha1.Rejection) bool { return r.Until != nil }
	reserved := func(h v1alpha1.HostOwner) bool { return h.Until != nil }
	changes := func(m v1alpha1.MemberMemory) bool {
		return m.DepartedAt != nil || m.VanishedAt != nil || slices.ContainsFunc(m.Rejections, ends)
	}
	if slices.ContainsFunc(r.Memory.Hosts, reserved) ||
		slices.ContainsFunc(r.Memory.Members, changes) {
		return Parse(r, now)
	}
	return m.parsed[key]
}

// Keys returns the keys of all records.
func (m *Cache) Keys() []lb.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.records))
}

// SameName returns the other load balancers with the name of a load balancer.
func (m *Cache) SameName(key lb.Key) []lb.Key {
	return slices.DeleteFunc(m.Keys(), func(k lb.Key) bool {
		return k == key || k.Name() == "" || k.Name() != key.Name()
	})
}

// All returns all records, which the caller must not change; nil before they are read.
func (m *Cache) All() map[lb.Key]Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.records)
}

// Holding returns the load balancers whose records have an Ingress, by namespace/name.
func (m *Cache) Holding(member string) []lb.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(m.holders.All(member))
}

// OfTenant returns the load balancers of a tenant; true for those whose records have Ingresses.
func (m *Cache) OfTenant(tenant string) map[lb.Key]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[lb.Key]bool{}
	for key := range m.tenants.All(tenant) {
		out[key] = len(m.records[key].Memory.Members) > 0
	}
	return out
}

// ParsedOf returns the records that have one of the Ingresses, as the compiler reads them, without
// their other Ingresses.
func (m *Cache) ParsedOf(members []string, now time.Time) map[lb.Key]record.Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, out := map[lb.Key]record.Record{}, map[lb.Key]record.Record{}
	for _, member := range members {
		for key := range m.holders.All(member) {
			if _, ok := known[key]; !ok {
				known[key] = m.read(key, now)
				out[key] = record.Record{
					Class: known[key].Class, Hosts: known[key].Hosts, Members: map[string]record.Member{},
				}
			}
			out[key].Members[member] = known[key].Members[member]
		}
	}
	return out
}

// AddPinned adds the recorded parameters of a class, if there are any.
func (m *Cache) AddPinned(class string, to map[lb.Key]record.Record) {
	if class == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, known := range m.parsed {
		if _, there := to[key]; !there && key.Class() == class && known.Class != nil {
			to[key] = record.Record{Class: known.Class}
		}
	}
}

// Save replaces a record, in the Store first.
func (m *Cache) Save(ctx context.Context, key lb.Key, r Record) error {
	if err := m.Store.Save(ctx, key, r); err != nil {
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

// Follow stores what another operator recorded of a load balancer, and reports whether it is new.
func (m *Cache) Follow(key lb.Key, known v1alpha1.Memory) bool {
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

// Drop deletes the record of a load balancer.
func (m *Cache) Drop(ctx context.Context, key lb.Key) error {
	if err := m.Store.Drop(ctx, key); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(key, Record{})
	delete(m.records, key)
	delete(m.parsed, key)
	m.tenants.Remove(key.Tenant(), key)
	return nil
}

func (m *Cache) put(key lb.Key, r Record) {
	for _, member := range m.records[key].Memory.Members {
		m.holders.Remove(member.Ingress, key)
	}
	for _, c := range m.records[key].Memory.Certificates {
		namespace, _, _ := strings.Cut(c.Secret, "/")
		if delete(m.certificates[namespace], key); len(m.certificates[namespace]) == 0 {
			delete(m.certificates, namespace)
		}
	}
	m.records[key], m.parsed[key] = r, Parse(r, time.Time{})
	m.tenants.Add(key.Tenant(), key)
	for _, member := range r.Memory.Members {
		m.holders.Add(member.Ingress, key)
	}
	for _, c := range r.Memory.Certificates {
		namespace, _, _ := strings.Cut(c.Secret, "/")
		if m.certificates[namespace] == nil {
			m.certificates[namespace] = map[lb.Key]int{}
		}
		m.certificates[namespace][key]++
	}
}

// CertificatesOf returns how many certificates of Secrets of a namespace each load balancer has.
func (m *Cache) CertificatesOf(namespace string) map[lb.Key]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.certificates[namespace])
}

// Remembered returns what the operator of a namespace, or of all, has recorded, so that the command
// line compiles as the operator does. A cluster without our CRDs has no records.
func Remembered(ctx context.Context, cluster client.Reader,
	namespace string) (map[lb.Key]record.Record, error) {
	records, err := NewStore(cluster, nil, namespace).Load(ctx)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := make(map[lb.Key]record.Record, len(records))
	for key, r := range records {
		out[key] = Parse(r, time.Now())
	}
	return out, nil
}

// Parse returns the part of a record that the compiler reads, without entries that had ended by
// a time.
func Parse(r Record, now time.Time) record.Record {
	out := record.Record{
		Class: r.Memory.Class, Members: map[string]record.Member{},
		Certificates: map[string]lb.CertificateID{}, CloudCertificates: map[lb.CertificateID][]string{},
		Clients: map[string]string{}, Rules: r.Memory.Rules,
		Hosts: ownersOf(r.Memory.Hosts, now), Yielding: yieldingOf(r.Memory.Hosts),
	}
	for _, m := range r.Memory.Members {
		known := record.Member{Previous: lb.Key(m.Previous), Move: m.Move, Served: m.Served}
		if m.DepartedAt != nil {
			known.Departed = max(0, now.Sub(m.DepartedAt.Time))
		}
		if m.VanishedAt != nil {
			known.Vanished = &record.Vanishing{
				For: max(0, now.Sub(m.VanishedAt.Time)), Unconfirmed: m.Unconfirmed,
			}
		}
		for _, key := range m.Earlier {
			known.Earlier = append(known.Earlier, lb.Key(key))
		}
		if v := m.LastAccepted; v != nil {
			known.LastAccepted = &record.Accepted{Annotations: v.Annotations, Spec: v.Spec}
			if known.Created = v.Created.Time; known.Created.IsZero() {
				// an earlier version has not written when it was created, which was before
				known.Created = v.At.Time
			}
		}
		for _, x := range m.Rejections {
			if HasEnded(x, now) {
				continue
			}
			known.Rejections = append(known.Rejections,
				record.Rejection{Version: x.Version, Message: x.Message})
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
	for _, c := range r.Memory.ClosedHosts {
		out.Closed = append(out.Closed, routing.ClosedHost{Host: routing.Host(c.Host), Port: c.Port,
			GivenUpBy: c.GivenUpBy})
	}
	return out
}

// AddressesOf returns the host name and the addresses by which the status of an Ingress may name a
// load balancer.
func AddressesOf(r *Record) []string {
	if r.Address == "" || slices.Contains(r.IPs, r.Address) {
		return r.IPs
	}
	return append([]string{r.Address}, r.IPs...)
}

// MemberOf returns the entry of a record for an Ingress; nil if there is none.
func MemberOf(r *Record, member string) *v1alpha1.MemberMemory {
	at, found := slices.BinarySearchFunc(r.Memory.Members, member,
		func(m v1alpha1.MemberMemory, member string) int {
			return cmp.Compare(m.Ingress, member)
		})
	if !found {
		return nil
	}
	return &r.Memory.Members[at]
}

// SortMembers sorts the members of a record for searches.
func SortMembers(r *Record) {
	slices.SortFunc(r.Memory.Members, func(a, b v1alpha1.MemberMemory) int {
		return cmp.Compare(a.Ingress, b.Ingress)
	})
}

// HasRejections reports whether a record has rejections that other capabilities of the cloud may
// end.
func HasRejections(r *Record) bool {
	return slices.ContainsFunc(r.Memory.Members, func(m v1alpha1.MemberMemory) bool {
		return len(m.Rejections) > 0
	}) ||
		slices.ContainsFunc(r.Diagnostics, func(d v1alpha1.Diagnostic) bool {
			return d.Reason == string(diag.QuotaExceeded)
		})
}

// HasEnded reports whether a rejection has ended.
func HasEnded(r v1alpha1.Rejection, now time.Time) bool {
	return r.Until != nil && !now.Before(r.Until.Time)
}
