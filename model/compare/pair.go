package compare

import (
	"cmp"
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file pairs the load balancers of both states.

// A pair is a load balancer before and after. A table is nil without a load balancer.
type pair struct{ before, after *precedence.Table }

// key returns the key of the load balancer after, or before if there is none after.
func (p pair) key() routing.Key {
	if p.after != nil {
		return p.after.Key
	}
	return p.before.Key
}

// pairs pairs tables by key. A load balancer whose scheme or name changes is paired with the new
// one.
func pairs(before, after []*precedence.Table) []pair {
	left, right := byKey(before), byKey(after)
	var out []pair
	for key, t := range left {
		if right[key] != nil {
			out = append(out, pair{t, right[key]})
			delete(left, key)
			delete(right, key)
		}
	}
	moved := byOwner(right)
	for owner, t := range byOwner(left) {
		if t != nil && moved[owner] != nil {
			out = append(out, pair{t, moved[owner]})
			delete(left, t.Key)
			delete(right, moved[owner].Key)
		}
	}
	for _, t := range left {
		out = append(out, pair{before: t})
	}
	for _, t := range right {
		out = append(out, pair{after: t})
	}
	slices.SortFunc(out, func(a, b pair) int { return cmp.Compare(a.key(), b.key()) })
	return out
}

func byKey(tables []*precedence.Table) map[routing.Key]*precedence.Table {
	out := map[routing.Key]*precedence.Table{}
	for _, t := range tables {
		if t != nil && len(t.Listeners) > 0 {
			out[t.Key] = t
		}
	}
	return out
}

// byOwner maps the part of a key before the scheme to its table, or to nil if there are several.
func byOwner(tables map[routing.Key]*precedence.Table) map[string]*precedence.Table {
	out := map[string]*precedence.Table{}
	for _, key := range slices.Sorted(maps.Keys(tables)) {
		if _, twice := out[key.Whose()]; twice {
			out[key.Whose()] = nil
			continue
		}
		out[key.Whose()] = tables[key]
	}
	return out
}

// ports returns the ports of both, ascending.
func (p pair) ports() []int32 {
	var out []int32
	for _, t := range []*precedence.Table{p.before, p.after} {
		if t == nil {
			continue
		}
		for _, l := range t.Listeners {
			out = append(out, l.Port)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Successors returns, for each table before, the table after; nil if there is none.
func Successors(before, after []*precedence.Table) map[*precedence.Table]*precedence.Table {
	out := map[*precedence.Table]*precedence.Table{}
	for _, p := range pairs(before, after) {
		if p.before != nil {
			out[p.before] = p.after
		}
	}
	return out
}
