package lowering

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// A block holds claims of one group that become one rule, or several if they do not fit into one.
// Between them, no claim of another group overlaps one of them.
type block struct {
	group   *group
	action  lb.Action
	when    routing.Conditions // without that on the host
	onHost  *routing.Condition
	hosts   []routing.Host // sorted; all with the same kind of spelling
	paths   []routing.Path // sorted
	origins []origin
	byHost  map[routing.Host][]origin // the origins, made when needed
	layer   int                       // blocks of one host in a lower layer come first
	name    string                    // result of key
	index   *pathIndex                // result of pathIndex
}

// pathIndex returns the index of the paths. It is built once, when the block is complete.
func (b *block) pathIndex() *pathIndex {
	if b.index == nil {
		b.index = newPathIndex(b.paths)
	}
	return b.index
}

// An origin is the source of a path of one of a block's hosts. A catch-all rule has none.
type origin struct {
	host   routing.Host
	path   routing.Path
	source diag.Source
}

// blocks packs the claims of a host, which are in order of precedence, into blocks. It packs them
// from the top and from the bottom, and returns the shorter result.
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

// oneBlock returns the block of a host whose claims are all of one group, which is the usual case.
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
	return &block{group: cl.group, action: cl.action, when: besidesHost(cl.said), onHost: cl.said.Host(),
		hosts: []routing.Host{host}}
}

func (b *block) add(cl *claim) {
	b.paths = append(b.paths, cl.path)
	b.origins = append(b.origins, origin{b.hosts[0], cl.path, cl.origin})
}

// firstFit puts each claim into a block of its group. An earlier claim of another group that
// overlaps it must keep its precedence, so the block has to come after the blocks of such claims.
// It takes the first possible block, or adds one at the end. Ordered reports whether the order of
// blocks matters.
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

// layers gives each block the number of its layer, which is above those of all blocks that have to
// come before it. Blocks of one layer may have any order, so their order can stay stable when other
// blocks change.
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

// highest finds the highest place among the placed claims of other groups that overlap a path. For
// prefixes and exact paths, it keeps a summary of all paths below each prefix, so that one look-up
// finds it.
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

// topTwo holds the highest place, and the highest place of any other group.
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

// without returns the highest place of a group other than g; -1 if there is none.
func (t topTwo) without(g *group) int {
	switch t.group {
	case nil:
		return -1
	case g:
		return t.second
	}
	return t.first
}
