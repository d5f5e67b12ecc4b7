package cluster

import (
	"iter"
	"maps"
	"slices"
)

// A Multimap has a set of elements for each of its keys. No set is empty.
type Multimap[A, B comparable] map[A]set[B]

// few is the most elements of a set without a map. Most sets have one element, and a map of one
// takes 350 bytes.
const few = 8

// A set has its elements in the slice, or more than few of them in the map.
type set[B comparable] struct {
	list  []B
	table map[B]bool
}

// Add adds an element to the set of a key.
func (m Multimap[A, B]) Add(a A, b B) {
	s := m[a]
	switch {
	case s.table != nil:
		s.table[b] = true
		return
	case slices.Contains(s.list, b):
		return
	case len(s.list) < few:
		s.list = append(s.list, b)
	default:
		s.table = map[B]bool{b: true}
		for _, other := range s.list {
			s.table[other] = true
		}
		s.list = nil
	}
	m[a] = s
}

// Remove removes an element from the set of a key, and the key with its last element.
func (m Multimap[A, B]) Remove(a A, b B) {
	s := m[a]
	delete(s.table, b)
	if i := slices.Index(s.list, b); i >= 0 {
		s.list = slices.Delete(slices.Clone(s.list), i, i+1) // an iteration under way has the old one
		m[a] = s
	}
	if len(s.list)+len(s.table) == 0 {
		delete(m, a)
	}
}

// Len returns the number of elements in the set of a key.
func (m Multimap[A, B]) Len(a A) int { return len(m[a].list) + len(m[a].table) }

// All returns the elements of a key's set, in any order.
func (m Multimap[A, B]) All(a A) iter.Seq[B] {
	if s := m[a]; s.table == nil {
		return slices.Values(s.list)
	}
	return maps.Keys(m[a].table)
}
