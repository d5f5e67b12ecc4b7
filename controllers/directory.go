package controllers

import (
	"maps"
	"slices"
	"sync"

	"fairlead.dev/fairlead/model/lb"
)

// This file knows which load balancers depend on which objects, so that a change of one object
// reconciles just these.

// A directory is which load balancers depend on what. It learns from each Ingress where it belongs
// and from each snapshot what it was made of.
type directory struct {
	mu         sync.Mutex
	dependents map[ref]map[lb.Key]bool
	members    map[lb.Key]map[string]bool // Ingresses by namespace/name
	groups     map[string]map[lb.Key]bool // those that have members, by whose they are
	refs       map[lb.Key][]ref           // what was read for the last snapshot
}

func newDirectory() *directory {
	return &directory{dependents: map[ref]map[lb.Key]bool{}, members: map[lb.Key]map[string]bool{}, groups: map[string]map[lb.Key]bool{}, refs: map[lb.Key][]ref{}}
}

// place notes where an Ingress belongs and returns every load balancer that has to know: those, and
// those that it belonged to before. They keep it until they let go of it.
func (d *directory) place(ingress ref, keys []lb.Key) []lb.Key {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range keys {
		add(d.dependents, ingress, key)
		add(d.members, key, ingress.String())
		add(d.groups, key.Whose(), key)
	}
	return d.sortedDependents(ingress)
}

// letGo notes that a load balancer has nothing more to do with an Ingress.
func (d *directory) letGo(ingress ref, key lb.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	remove(d.dependents, ingress, key)
	remove(d.members, key, ingress.String())
	if d.members[key] == nil {
		remove(d.groups, key.Whose(), key)
	}
}

// membersOf are the Ingresses that belong to a load balancer, or did and are not let go of yet.
func (d *directory) membersOf(key lb.Key) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.members[key]))
}

// beside are the Ingresses of the other load balancers that a group is, because members differ in what
// cannot change in place. The members of all of them are told.
func (d *directory) beside(key lb.Key) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for other := range d.groups[key.Whose()] {
		if other != key {
			out = slices.AppendSeq(out, maps.Keys(d.members[other]))
		}
	}
	return out
}

// depend notes what a load balancer depends on besides its members. It is told before these objects
// are read, so that no change falls between reading and noting.
func (d *directory) depend(key lb.Key, refs []ref) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.refs[key] {
		remove(d.dependents, r, key)
	}
	for _, r := range refs {
		add(d.dependents, r, key)
	}
	d.refs[key] = refs
	if len(refs) == 0 {
		delete(d.refs, key)
	}
}

// of are the objects that the last snapshot of a load balancer was made of, besides its members.
func (d *directory) of(key lb.Key) []ref {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refs[key]
}

// on are the load balancers that depend on an object.
func (d *directory) on(r ref) []lb.Key {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sortedDependents(r)
}

func (d *directory) sortedDependents(r ref) []lb.Key {
	return slices.Sorted(maps.Keys(d.dependents[r]))
}
