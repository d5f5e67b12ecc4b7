package lb

import (
	"container/heap"
	"strings"

	"fairlead.dev/fairlead/model/routing"
)

// This file joins the blocks of hosts that no request can be for at once: blocks of one group
// with equal paths become one block for all of their hosts, where an order is left that suits
// every host.

// key is equal for blocks that can be joined.
func (b *block) key() string {
	var k strings.Builder
	k.WriteString(b.group.owner + "|" + b.group.action + "|" + b.group.when)
	for _, p := range b.paths {
		k.WriteString("|" + p.Type.String() + p.Value)
	}
	return k.String()
}

// node is a block in the order that is being made; a barrier between two layers of a host has
// no block.
type node struct {
	block *block
	key   string
	next  []*node
	waits int
	index int // of its making, the last resort of a deterministic order
}

// join puts the chains of disjoint hosts into one order. Hosts are joined first and separated
// again where that makes a circle.
func join(chains [][]*block) []*block {
	apart := map[string]bool{}
	for {
		g := newGraph(chains, apart)
		ordered, stuck := g.order()
		if len(stuck) == 0 {
			return ordered
		}
		for _, n := range stuck {
			if n.block != nil && len(n.block.hosts) > 1 {
				apart[n.key] = true
			}
		}
	}
}

type graph struct{ nodes []*node }

func newGraph(chains [][]*block, apart map[string]bool) *graph {
	g := &graph{}
	joined := map[string]*node{}
	for _, chain := range chains {
		var barrier *node
		for i := 0; i < len(chain); {
			var gate *node
			end := i
			for ; end < len(chain) && chain[end].layer == chain[i].layer; end++ {
				n := g.node(chain[end], joined, apart)
				barrier.before(n)
				if gate == nil {
					gate = g.add(nil, "")
				}
				n.before(gate)
			}
			barrier, i = gate, end
		}
	}
	return g
}

// node is the node of a block: that of an equal block of another host, if they may be joined.
func (g *graph) node(b *block, joined map[string]*node, apart map[string]bool) *node {
	key := b.key()
	if n := joined[key]; n != nil && !apart[key] {
		n.block.hosts = append(n.block.hosts, b.hosts...)
		n.block.origins = append(n.block.origins, b.origins...)
		return n
	}
	copied := *b
	copied.hosts = append([]routing.Host(nil), b.hosts...)
	copied.origins = append([]origin(nil), b.origins...)
	n := g.add(&copied, key)
	joined[key] = n
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

// order takes the nodes that wait for nothing, by key. What is left stands in a circle.
func (g *graph) order() (ordered []*block, stuck []*node) {
	free := &nodeHeap{}
	for _, n := range g.nodes {
		if n.waits == 0 {
			heap.Push(free, n)
		}
	}
	done := 0
	for free.Len() > 0 {
		n, _ := heap.Pop(free).(*node)
		done++
		if n.block != nil {
			ordered = append(ordered, n.block)
		}
		for _, m := range n.next {
			if m.waits--; m.waits == 0 {
				heap.Push(free, m)
			}
		}
	}
	if done == len(g.nodes) {
		return ordered, nil
	}
	for _, n := range g.nodes {
		if n.waits > 0 {
			stuck = append(stuck, n)
		}
	}
	return nil, stuck
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
