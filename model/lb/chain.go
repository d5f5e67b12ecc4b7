package lb

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// A block is what will become a rule, or a few if it does not fit into one: claims of one group
// that no claim of another group between them overlaps.
type block struct {
	group   groupKey
	action  Action
	when    routing.Conditions
	hosts   []routing.Host // sorted; all of one kind of spelling
	paths   []routing.Path // sorted
	origins []origin
	layer   int // blocks of one host in a lower layer come first
}

// origin is where one path of a block comes from. A guard that nobody asked for has none.
type origin struct {
	path   routing.Path
	source diag.Source
}

// blocks packs one host's claims, given by precedence, into blocks. It is done from the top and
// from the bottom, because either may leave fewer.
func (s *pathSets) blocks(host routing.Host, all []claim) []*block {
	best := s.firstFit(host, all)
	upwards := slices.Clone(all)
	slices.Reverse(upwards)
	if other := s.firstFit(host, upwards); len(other) < len(best) {
		slices.Reverse(other)
		best = other
	}
	s.layers(best)
	return best
}

// firstFit puts each claim into the first block of its group that stands behind every block it
// must not overtake: those with an overlapping claim of another group before it. Only
// where there is none is a block added at the end.
func (s *pathSets) firstFit(host routing.Host, all []claim) []*block {
	var blocks []*block
	byGroup := map[groupKey][]int{}
	placed := newHighest(s)
	for _, cl := range all {
		earliest := placed.before(cl) + 1
		mine := byGroup[cl.group]
		at := slices.IndexFunc(mine, func(b int) bool { return b >= earliest })
		var b int
		if at >= 0 {
			b = mine[at]
		} else {
			b = len(blocks)
			blocks = append(blocks, &block{group: cl.group, action: cl.action, when: cl.when, hosts: []routing.Host{host}})
			byGroup[cl.group] = append(mine, b)
		}
		blocks[b].paths = append(blocks[b].paths, cl.path)
		blocks[b].origins = append(blocks[b].origins, origin{cl.path, cl.origin})
		placed.put(cl, b)
	}
	return blocks
}

// layers numbers blocks by how deep they must stand, so that those that need no order among
// them can be put in one that does not depend on their neighbours.
func (s *pathSets) layers(blocks []*block) {
	placed := newHighest(s)
	for _, b := range blocks {
		for _, p := range b.paths {
			b.layer = max(b.layer, placed.before(claim{path: p, group: b.group})+1)
		}
		for _, p := range b.paths {
			placed.put(claim{path: p, group: b.group}, b.layer)
		}
		sortPaths(b.paths)
	}
	slices.SortStableFunc(blocks, func(a, b *block) int {
		return cmp.Or(cmp.Compare(a.layer, b.layer), cmp.Compare(a.key(), b.key()))
	})
}

// highest remembers, of the claims placed so far, the highest place among those that overlap a
// path and are of another group. For prefixes and exact paths it is a summary at each prefix of
// what lies below, so that asking costs one look-up.
type highest struct {
	sets   *pathSets
	below  map[string]*topTwo // at each prefix: everything below it
	at     map[routing.Path]*topTwo
	others []placedClaim // globs and regular expressions
	plain  []placedClaim // the rest, for globs to be compared with
}

type placedClaim struct {
	claim claim
	place int
}

// topTwo is the highest place, and the highest of another group than that one's.
type topTwo struct {
	first, second int
	group         groupKey
}

func newHighest(s *pathSets) *highest {
	return &highest{sets: s, below: map[string]*topTwo{}, at: map[routing.Path]*topTwo{}}
}

func (h *highest) before(cl claim) int {
	place := -1
	see := func(others []placedClaim) {
		for _, o := range others {
			if o.place > place && o.claim.group != cl.group && h.sets.overlap(o.claim.path, cl.path) {
				place = o.place
			}
		}
	}
	if cl.path.Type == routing.Glob || cl.path.Type == routing.Regex {
		see(h.plain)
	} else {
		place = max(h.at[cl.path].without(cl.group), place)
		if cl.path.Type == routing.Prefix {
			place = max(h.below[cl.path.Value].without(cl.group), place)
		}
		for up := range ancestors(cl.path.Value) {
			place = max(h.at[routing.Path{Type: routing.Prefix, Value: up}].without(cl.group), place)
		}
	}
	see(h.others)
	return place
}

func (h *highest) put(cl claim, place int) {
	if cl.path.Type == routing.Glob || cl.path.Type == routing.Regex {
		h.others = append(h.others, placedClaim{cl, place})
		return
	}
	h.plain = append(h.plain, placedClaim{cl, place})
	offer(h.at, cl.path, cl.group, place)
	for up := range ancestors(cl.path.Value) {
		offer(h.below, up, cl.group, place)
	}
}

func offer[K comparable](m map[K]*topTwo, key K, group groupKey, place int) {
	t := m[key]
	if t == nil {
		t = &topTwo{first: -1, second: -1}
		m[key] = t
	}
	t.offer(group, place)
}

func (t *topTwo) offer(group groupKey, place int) {
	switch {
	case t.first < 0 || group == t.group:
		t.group, t.first = group, max(t.first, place)
	case place > t.first:
		t.second = t.first
		t.first, t.group = place, group
	case place > t.second:
		t.second = place
	}
}

// without is the highest place of another group, -1 if there is none.
func (t *topTwo) without(group groupKey) int {
	switch {
	case t == nil:
		return -1
	case t.group == group:
		return t.second
	}
	return t.first
}
