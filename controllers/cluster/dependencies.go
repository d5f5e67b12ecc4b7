package cluster

import (
	"slices"
	"sync"

	"fairlead.dev/fairlead/model/lb"
)

// This file indexes which load balancers depend on which objects, so that a change of one object
// reconciles these alone.

// Dependencies is an index of load balancers by the objects that they depend on: their Ingresses,
// and the objects in their last snapshot.
type Dependencies struct {
	mu         sync.Mutex
	Dependents Multimap[Ref, lb.Key]
	Members    Multimap[lb.Key, string] // Ingresses by namespace/name
	groups     Multimap[string, lb.Key] // load balancers with members, by group
	classes    Multimap[string, lb.Key] // load balancers with members, by class
	tenants    Multimap[string, lb.Key] // load balancers with members, by tenant
	Refs       map[lb.Key][]Ref         // the objects in the last snapshot
}

func NewDependencies() *Dependencies {
	return &Dependencies{
		Dependents: Multimap[Ref, lb.Key]{}, Members: Multimap[lb.Key, string]{},
		groups: Multimap[string, lb.Key]{}, classes: Multimap[string, lb.Key]{},
		tenants: Multimap[string, lb.Key]{}, Refs: map[lb.Key][]Ref{},
	}
}

// Place adds an Ingress to load balancers. It returns all load balancers that depend on the
// Ingress: these, and earlier ones that have not released it.
func (d *Dependencies) Place(ingress Ref, keys []lb.Key) []lb.Key {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range keys {
		d.Dependents.Add(ingress, key)
		d.Members.Add(key, ingress.String())
		d.groups.Add(key.Whose(), key)
		d.classes.Add(key.Class(), key)
		d.tenants.Add(key.Tenant(), key)
	}
	return d.sortedDependents(ingress)
}

// Release removes an Ingress from a load balancer.
func (d *Dependencies) Release(ingress Ref, key lb.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Dependents.Remove(ingress, key)
	d.Members.Remove(key, ingress.String())
	if d.Members.Len(key) == 0 {
		d.groups.Remove(key.Whose(), key)
		d.classes.Remove(key.Class(), key)
		d.tenants.Remove(key.Tenant(), key)
	}
}

// MembersOf returns the Ingresses that were added to a load balancer and not released.
func (d *Dependencies) MembersOf(key lb.Key) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(d.Members.All(key))
}

// MembersOfClass returns the Ingresses that were added to load balancers of a class and not
// released.
func (d *Dependencies) MembersOfClass(class string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for key := range d.classes.All(class) {
		out = slices.AppendSeq(out, d.Members.All(key))
	}
	return out
}

// OfTenant returns the load balancers of a tenant, as Key.Tenant names it, that have Ingresses.
func (d *Dependencies) OfTenant(tenant string) []lb.Key {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(d.tenants.All(tenant))
}

// MembersOfSiblings returns the Ingresses of the other load balancers of the same group: a group is
// several load balancers where members differ in a setting that cannot change in place.
func (d *Dependencies) MembersOfSiblings(key lb.Key) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for other := range d.groups.All(key.Whose()) {
		if other != key {
			out = slices.AppendSeq(out, d.Members.All(other))
		}
	}
	return out
}

// SetReferences sets the objects that a load balancer depends on besides its members. It is called
// before these objects are read, so that no change falls between the two.
func (d *Dependencies) SetReferences(key lb.Key, refs []Ref) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.Refs[key] {
		d.Dependents.Remove(r, key)
	}
	for _, r := range refs {
		d.Dependents.Add(r, key)
	}
	d.Refs[key] = refs
	if len(refs) == 0 {
		delete(d.Refs, key)
	}
}

// ReferencesOf returns the objects in the last snapshot of a load balancer, except its members.
func (d *Dependencies) ReferencesOf(key lb.Key) []Ref {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Refs[key]
}

// DependentsOf returns the load balancers that depend on an object.
func (d *Dependencies) DependentsOf(r Ref) []lb.Key {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sortedDependents(r)
}

func (d *Dependencies) sortedDependents(r Ref) []lb.Key {
	return slices.Sorted(d.Dependents.All(r))
}
