package lowering

import (
	"container/heap"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/routing"
)

// This file joins the blocks of different hosts: blocks of one group with equal paths become one
// block for all of their hosts, if an order remains that is right for every host.

// A chain has the blocks of one host, in a right order. Under has the chains of the less specific
// hosts in the same section that cover the host: requests that match no block here go there.
type chain struct {
	blocks []*block
	under  []*chain
	// repeats: blocks of under are among these, in their place
	repeats bool
}

// key is equal for blocks that can be joined. It is made once, when the block is complete.
func (b *block) key() string {
	if b.name != "" {
		return b.name
	}
	var k strings.Builder
	k.WriteString(b.group.owner + "|" + b.group.action + "|" + b.group.when)
	for _, p := range b.paths {
		k.WriteString("|" + p.Type.String() + p.Value)
	}
	b.name = k.String()
	return b.name
}

// A node is a block in the graph of the order. A barrier between two layers of a host has no block.
type node struct {
	block *block
	key   string
	next  []*node
	waits int
	index int // of its creation, the last criterion of the order
}

// join puts chains into one order. It joins equal blocks of all hosts, and separates those on
// cycles, one block at a time while cycles are small: first precise hosts from wildcards, then all
// hosts.
func (s *pathSets) join(chains []*chain) []*block {
	apart := map[string]separation{}
	for {
		g := s.newGraph(chains, apart)
		ordered := g.order()
		circle := g.cycle()
		if len(circle) == 0 {
			return ordered
		}
		slices.SortStableFunc(circle, func(a, b *node) int {
			return int(apart[a.block.key()]) - int(apart[b.block.key()])
		})
		for _, n := range circle[:1+len(circle)/8] {
			apart[n.block.key()]++
		}
	}
}

// A separation is the kind of hosts whose equal blocks are not joined.
type separation uint8

const (
	joined separation = iota
	byKind
	byHost
)

type graph struct{ nodes []*node }

func (s *pathSets) newGraph(chains []*chain, apart map[string]separation) *graph {
	g := &graph{}
	known := map[string]*node{}
	nodes := map[*chain][]*node{}
	for _, c := range chains {
		for _, b := range c.blocks {
			nodes[c] = append(nodes[c], g.node(b, known, apart))
		}
	}
	for _, c := range chains {
		own := nodes[c]
		if len(own) > pairwise {
			g.orderByLayers(c.blocks, own)
		} else {
			for i, b := range c.blocks {
				s.putAhead(b, own[i], c.blocks[i+1:], own[i+1:])
			}
		}
		for _, under := range c.under {
			blocks, below := under.blocks, nodes[under]
			if c.repeats {
				blocks, below = without(blocks, below, own)
			}
			if len(own)*len(below) > pairwise*pairwise {
				gate := g.add(nil, "")
				for _, n := range own {
					n.before(gate)
				}
				for _, n := range below {
					gate.before(n)
				}
			} else {
				for i, b := range c.blocks {
					s.putAhead(b, own[i], blocks, below)
				}
			}
		}
	}
	return g
}

// without returns blocks and their nodes without those whose nodes are among others: the chain of
// these has them in their place.
func without(blocks []*block, nodes, others []*node) ([]*block, []*node) {
	among := make(map[*node]bool, len(others))
	for _, n := range others {
		among[n] = true
	}
	var keptBlocks []*block
	var kept []*node
	for i, n := range nodes {
		if !among[n] {
			keptBlocks, kept = append(keptBlocks, blocks[i]), append(kept, n)
		}
	}
	return keptBlocks, kept
}

// pairwise is the most blocks of a chain that are compared with each other. Longer chains are
// ordered by layers.
const pairwise = 64

// putAhead puts a block before overlapping blocks of other groups.
func (s *pathSets) putAhead(b *block, n *node, others []*block, nodes []*node) {
	for i, o := range others {
		if o.group != b.group && s.anyOverlap(b.group.owner, b.pathIndex(), o.pathIndex()) {
			n.before(nodes[i])
		}
	}
}

// orderByLayers puts the blocks of a chain in order, one layer after the other.
func (g *graph) orderByLayers(blocks []*block, nodes []*node) {
	var barrier *node
	for i := 0; i < len(blocks); {
		gate := g.add(nil, "")
		end := i
		for ; end < len(blocks) && blocks[end].layer == blocks[i].layer; end++ {
			barrier.before(nodes[end])
			nodes[end].before(gate)
		}
		barrier, i = gate, end
	}
}

// node returns the node of a block: that of an equal block of another host, if they may be joined.
func (g *graph) node(b *block, known map[string]*node, apart map[string]separation) *node {
	key := b.key()
	switch apart[key] {
	case byKind:
		if h := b.hosts[0]; h == routing.Any || h.Wildcard() {
			key = fmt.Sprintf("wildcard %t %s", h == routing.Any, key)
		}
	case byHost: // equal blocks of one host are not joined
		key = fmt.Sprintf("%s %d %s", b.hosts[0], len(g.nodes), key)
	}
	if n := known[key]; n != nil {
		n.block.hosts = append(n.block.hosts, b.hosts...)
		n.block.origins = append(n.block.origins, b.origins...)
		return n
	}
	copied := *b
	copied.hosts = slices.Clone(b.hosts)
	copied.origins = slices.Clone(b.origins)
	n := g.add(&copied, key)
	known[key] = n
	return n
}

func (g *graph) add(b *block, key string) *node {
	n := &node{block: b, key: key, index: len(g.nodes)}
	g.nodes = append(g.nodes, n)
	return n
}

func (n *node) before(m *node) {
	if n != nil {
		n.next = append(n.next, m)
		m.waits++
	}
}

// order takes the nodes without predecessors, by host and key. Nodes on cycles remain.
func (g *graph) order() []*block {
	free := &nodeHeap{}
	for _, n := range g.nodes {
		if n.waits == 0 {
			heap.Push(free, n)
		}
	}
	var ordered []*block
	for free.Len() > 0 {
		n, _ := heap.Pop(free).(*node)
		if n.block != nil {
			ordered = append(ordered, n.block)
		}
		for _, m := range n.next {
			if m.waits--; m.waits == 0 {
				heap.Push(free, m)
			}
		}
	}
	return ordered
}

// cycle returns the joined blocks that are left on dependency cycles after order. Blocks that only
// follow a cycle are dropped.
func (g *graph) cycle() []*node {
	left := map[*node]bool{}
	for _, n := range g.nodes {
		if n.waits > 0 {
			left[n] = true
		}
	}
	for trimmed := true; trimmed; {
		trimmed = false
		for n := range left {
			if !slices.ContainsFunc(n.next, func(m *node) bool { return left[m] }) {
				delete(left, n)
				trimmed = true
			}
		}
	}
	var circle []*node
	for _, n := range g.nodes {
		if left[n] && n.block != nil && len(n.block.hosts) > 1 {
			circle = append(circle, n)
		}
	}
	return circle
}

// nodeHeap yields barriers first, then blocks by host and key, so that a rule stays near those of
// its host.
type nodeHeap []*node

func (h nodeHeap) Len() int { return len(h) }
func (h nodeHeap) Less(i, j int) bool {
	a, b := h[i], h[j]
	if (a.block == nil) != (b.block == nil) {
		return a.block == nil
	}
	if a.block != nil {
		if x, y := a.block.hosts[0], b.block.hosts[0]; x != y {
			return x < y
		}
		if a.key != b.key {
			return a.key < b.key
		}
	}
	return a.index < b.index
}
func (h nodeHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *nodeHeap) Push(x any) {
	if n, ok := x.(*node); ok {
		*h = append(*h, n)
	}
}
func (h *nodeHeap) Pop() any {
	old := *h
	n := old[len(old)-1]
	*h = old[:len(old)-1]
	return n
}
