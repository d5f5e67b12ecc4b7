package lowering

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// A block is what will become a rule, or a few if it does not fit into one: claims of one group
// that no claim of another group between them overlaps.
type block struct {
	group   *group
	action  lb.Action
	when    routing.Conditions
	hosts   []routing.Host // sorted; all of one kind of spelling
	paths   []routing.Path // sorted
	origins []origin
	byHost  map[routing.Host][]origin // the origins, once they are asked for
	layer   int                       // blocks of one host in a lower layer come first
	name    string                    // what key made of it
	index   *pathIndex                // what indexed made of it
}

// indexed is the index of the paths. It is made once the block is complete.
func (b *block) indexed() *pathIndex {
	if b.index == nil {
		b.index = newPathIndex(b.paths)
	}
	return b.index
}

// origin is where a path of one of a block's hosts comes from. A catch-all that no Ingress asked for has
// none.
type origin struct {
	host   routing.Host
	path   routing.Path
	source diag.Source
}

// blocks packs one host's claims, given by precedence, into blocks. It is done from the top and
// from the bottom, because either may leave fewer.
func (s *pathSets) blocks(host routing.Host, all []claim) []*block {
	groups := map[*group]bool{}
	for i := range all {
		groups[all[i].group] = true
	}
	if len(groups) == 1 {
		return []*block{oneBlock(host, all)}
	}
	best, ordered := s.firstFit(host, all)
	if len(best) > len(groups) {
		upwards := slices.Clone(all)
		slices.Reverse(upwards)
		if other, _ := s.firstFit(host, upwards); len(other) < len(best) {
			slices.Reverse(other)
			best = other
		}
	}
	if ordered {
		s.layers(best)
	}
	for _, b := range best {
		sortPaths(b.paths)
	}
	slices.SortStableFunc(best, func(a, b *block) int {
		return cmp.Or(cmp.Compare(a.layer, b.layer), cmp.Compare(a.key(), b.key()))
	})
	return best
}

// oneBlock is the usual case: all claims of a host are of one group.
func oneBlock(host routing.Host, all []claim) *block {
	b := newBlock(host, &all[0])
	b.paths = make([]routing.Path, 0, len(all))
	b.origins = make([]origin, 0, len(all))
	for i := range all {
		b.add(&all[i])
	}
	sortPaths(b.paths)
	return b
}

func newBlock(host routing.Host, cl *claim) *block {
	return &block{group: cl.group, action: cl.action, when: cl.when, hosts: []routing.Host{host}}
}

func (b *block) add(cl *claim) {
	b.paths = append(b.paths, cl.path)
	b.origins = append(b.origins, origin{b.hosts[0], cl.path, cl.origin})
}

// firstFit puts each claim into the first block of its group that stands behind every block it
// must not overtake: those with an overlapping claim of another group before it. Only
// where there is none is a block added at the end. The blocks are ordered if any of them must
// not overtake another.
func (s *pathSets) firstFit(host routing.Host, all []claim) (blocks []*block, ordered bool) {
	byGroup := map[*group][]int{}
	placed := newHighest(s, len(all))
	for i := range all {
		cl := &all[i]
		earliest := placed.before(cl.path, cl.group) + 1
		ordered = ordered || earliest > 0
		mine := byGroup[cl.group]
		at, _ := slices.BinarySearch(mine, earliest)
		if at == len(mine) {
			mine = append(mine, len(blocks))
			byGroup[cl.group] = mine
			blocks = append(blocks, newBlock(host, cl))
		}
		blocks[mine[at]].add(cl)
		placed.put(cl.path, cl.group, mine[at])
	}
	return blocks, ordered
}

// layers numbers blocks by how deep they must stand, so that those that need no order among
// them can be put in one that does not depend on their neighbours.
func (s *pathSets) layers(blocks []*block) {
	placed := newHighest(s, len(blocks))
	for _, b := range blocks {
		for _, p := range b.paths {
			b.layer = max(b.layer, placed.before(p, b.group)+1)
		}
		for _, p := range b.paths {
			placed.put(p, b.group, b.layer)
		}
	}
}

// highest remembers, of the claims placed so far, the highest place among those that overlap a
// path and are of another group. For prefixes and exact paths it is a summary at each prefix of
// what lies below, so that asking costs one look-up.
type highest struct {
	sets   *pathSets
	below  map[string]topTwo // at each prefix: everything below it
	at     map[routing.Path]topTwo
	others []placedClaim // globs and regular expressions
	plain  []placedClaim // the rest, for globs to be compared with
}

type placedClaim struct {
	path  routing.Path
	group *group
	place int
}

// topTwo is the highest place, and the highest of another group than that one's.
type topTwo struct {
	first, second int
	group         *group
}

func newHighest(s *pathSets, claims int) *highest {
	return &highest{sets: s, below: make(map[string]topTwo, claims),
		at: make(map[routing.Path]topTwo, claims)}
}

func (h *highest) before(p routing.Path, g *group) int {
	place := -1
	see := func(others []placedClaim) {
		for i := range others {
			if o := &others[i]; o.place > place && o.group != g && h.sets.overlap(g.owner, o.path, p) {
				place = o.place
			}
		}
	}
	if isGlob(p) {
		see(h.plain)
	} else {
		place = max(place, h.at[p].without(g))
		if p.Type == routing.Prefix {
			place = max(place, h.below[p.Value].without(g))
		}
		for up := range routing.Ancestors(p.Value) {
			place = max(place, h.at[routing.Path{Type: routing.Prefix, Value: up}].without(g))
		}
	}
	see(h.others)
	return place
}

func (h *highest) put(p routing.Path, g *group, place int) {
	if isGlob(p) {
		h.others = append(h.others, placedClaim{p, g, place})
		return
	}
	h.plain = append(h.plain, placedClaim{p, g, place})
	offer(h.at, p, g, place)
	for up := range routing.Ancestors(p.Value) {
		offer(h.below, up, g, place)
	}
}

func offer[K comparable](m map[K]topTwo, key K, g *group, place int) {
	t, ok := m[key]
	if !ok {
		t = topTwo{first: -1, second: -1}
	}
	t.offer(g, place)
	m[key] = t
}

func (t *topTwo) offer(g *group, place int) {
	switch {
	case t.first < 0 || g == t.group:
		t.group, t.first = g, max(t.first, place)
	case place > t.first:
		t.second = t.first
		t.first, t.group = place, g
	case place > t.second:
		t.second = place
	}
}

// without is the highest place of another group, -1 if there is none.
func (t topTwo) without(g *group) int {
	switch t.group {
	case nil:
		return -1
	case g:
		return t.second
	}
	return t.first
}
