package requests

import (
	"encoding/binary"
	"slices"

	"fairlead.dev/fairlead/model/routing"
)

// This file has lists of entries.

// An Entry answers the requests that match one of its paths and all of its conditions, and no
// earlier entry.
type Entry struct {
	Paths  []routing.Path
	When   routing.Conditions
	Answer string // equal for equal answers
	// Namespace is the namespace that wrote the paths and conditions; "" if none did.
	Namespace string
}

// Anything has the path that all requests match. The last entry of a list has it, and no
// conditions.
var Anything = []routing.Path{routing.Root}

// A list has entries, prepared for a search.
type list struct {
	entries []Entry
	ids     []int32   // equal for entries that are equal, also of two lists
	when    []string  // the key of the conditions of each
	paths   [][]int32 // the patterns of each
	by      [][]int32 // the entries that have a pattern, by pattern
}

// A lists numbers the patterns and the entries of lists.
type lists struct {
	patterns   []routing.Path
	namespaces []string // of the first entry with a pattern, by pattern
	numbers    map[routing.Path]int32
	known      map[string]int32
}

func newLists() *lists {
	return &lists{numbers: map[routing.Path]int32{}, known: map[string]int32{}}
}

// add prepares a list.
func (ls *lists) add(entries []Entry) *list {
	l := &list{entries: entries}
	for i, e := range entries {
		key := e.Answer
		l.paths = append(l.paths, nil)
		for _, p := range e.Paths {
			n := ls.number(p, e.Namespace)
			l.paths[i] = append(l.paths[i], n)
			for len(l.by) <= int(n) {
				l.by = append(l.by, nil)
			}
			l.by[n] = append(l.by[n], int32(i))
			key += "\x00" + string(rune('0'+p.Type)) + p.Value
		}
		l.when = append(l.when, e.When.Key())
		key += "\x01" + l.when[i]
		id, known := ls.known[key]
		if !known {
			id = int32(len(ls.known))
			ls.known[key] = id
		}
		l.ids = append(l.ids, id)
	}
	return l
}

func (ls *lists) number(p routing.Path, namespace string) int32 {
	n, known := ls.numbers[p]
	if !known {
		n = int32(len(ls.patterns))
		ls.numbers[p], ls.patterns = n, append(ls.patterns, p)
		ls.namespaces = append(ls.namespaces, namespace)
	}
	return n
}

// of returns the entries that have a pattern.
func (l *list) of(pattern int32) []int32 {
	if int(pattern) >= len(l.by) {
		return nil
	}
	return l.by[pattern]
}

// alive returns the entries that texts with the beginning read by the cells may match, up to the
// first that all of them match.
func (l *list) alive(cells []cell, into []int32) []int32 {
	out := into[:0]
	for _, c := range cells {
		partly := int32(1)
		if c.state == takesAll {
			partly = 0
		}
		for _, e := range l.of(c.pattern) {
			out = append(out, 2*e+partly)
		}
	}
	slices.Sort(out)
	n := 0
	for _, e := range out {
		if n > 0 && out[n-1] == e/2 {
			continue
		}
		out[n] = e / 2
		n++
		if e%2 == 0 && len(l.entries[e/2].When) == 0 {
			break
		}
	}
	return out[:n]
}

// matched returns the entries with a matching pattern, up to the first without conditions.
func (l *list) matched(patterns []int32) []int32 {
	var out []int32
	for _, p := range patterns {
		out = append(out, l.of(p)...)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	for n, e := range out {
		if len(l.entries[e].When) == 0 {
			return out[:n+1]
		}
	}
	return out
}

// same reports whether entries of two lists are equal, in the same order.
func (l *list) same(some []int32, other *list, others []int32) bool {
	return slices.EqualFunc(some, others, func(a, b int32) bool { return l.ids[a] == other.ids[b] })
}

// keyOf is equal for equal lists and only for them.
func keyOf(first, second []int32) string {
	key := make([]byte, 0, 4*(len(first)+len(second)+1))
	for _, e := range first {
		key = binary.LittleEndian.AppendUint32(key, uint32(e))
	}
	key = binary.LittleEndian.AppendUint32(key, ^uint32(0))
	for _, e := range second {
		key = binary.LittleEndian.AppendUint32(key, uint32(e))
	}
	return string(key)
}
