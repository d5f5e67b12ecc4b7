package planner

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
)

// A ruleOrder finds out which steps of one listener must keep their order: those whose rules a
// request can match both. Where a rule may overlap too many others to compare, its step becomes a
// barrier, which waits for all steps since the last barrier and which all later steps wait for.
type ruleOrder struct {
	index
	barrier int // the last one, or absent
}

// mostCompared is how many rules a rule is compared with at most: twice what a listener usually may
// have, so that at a limit no step waits for another without need.
const mostCompared = 200

func newRuleOrder(p *overlapCache) *ruleOrder {
	return &ruleOrder{index: newIndex(p),
		barrier: absent}
}

// place puts a task behind those that it must wait for, and returns these.
func (l *ruleOrder) place(e entry) []int {
	if len(l.candidates(e.rule)) > mostCompared {
		return l.placeBarrier(e.at)
	}
	after := l.predecessors(e.rule)
	l.add(e)
	return after
}

// predecessors returns what a task must wait for, and lets nothing wait for the task.
func (l *ruleOrder) predecessors(r lb.Rule) []int {
	after := l.overlapping(r)
	if l.barrier != absent {
		after = append(after, l.barrier)
	}
	return after
}

// placeBarrier makes a task a barrier, and returns what it must wait for.
func (l *ruleOrder) placeBarrier(task int) []int {
	var after []int
	for _, e := range l.entries {
		after = append(after, e.at)
	}
	if l.barrier != absent {
		after = append(after, l.barrier)
	}
	*l = ruleOrder{index: newIndex(l.overlaps), barrier: task}
	return after
}

// An index finds the rules that a request can match besides a given one. Rules that name plain
// hosts are compared only with rules for the same hosts and with rules without plain hosts.
type index struct {
	overlaps *overlapCache
	entries  []entry
	extents  []*lb.Extent     // of their rules, once they are asked for
	byHost   map[string][]int // of plain hosts, positions in entries
	anyHost  []int            // positions of those that cross every lane
}

// An entry is a rule, or the requests that a task concerns, and what it is found for: a task or
// a line.
type entry struct {
	at   int
	rule lb.Rule
}

func newIndex(p *overlapCache) index { return index{overlaps: p, byHost: map[string][]int{}} }

func (x *index) add(e entry) {
	position := len(x.entries)
	x.entries, x.extents = append(x.entries, e), append(x.extents, nil)
	hosts := plainHosts(e.rule)
	if hosts == nil {
		x.anyHost = append(x.anyHost, position)
	}
	for _, h := range hosts {
		x.byHost[h] = append(x.byHost[h], position)
	}
}

// overlapping is what the entries that overlap a rule are found for, in the order of entry.
func (x *index) overlapping(r lb.Rule) []int {
	var out []int
	own := x.overlaps.extent(r)
	for _, position := range x.candidates(r) {
		if x.extents[position] == nil {
			x.extents[position] = x.overlaps.extent(x.entries[position].rule)
		}
		if x.overlaps.extentsOverlap(x.extents[position], own) {
			out = append(out, x.entries[position].at)
		}
	}
	return out
}

// candidates returns the positions of the rules that may overlap a rule.
func (x *index) candidates(r lb.Rule) []int {
	hosts := plainHosts(r)
	if hosts == nil {
		all := make([]int, len(x.entries))
		for i := range all {
			all[i] = i
		}
		return all
	}
	near := slices.Clone(x.anyHost)
	for _, h := range hosts {
		near = append(near, x.byHost[h]...)
	}
	slices.Sort(near)
	return slices.Compact(near)
}

// An overlapCache remembers which rules overlap, because that can take long to find out and is
// asked again and again.
type overlapCache struct {
	dialect lb.Dialect
	extents map[string]*lb.Extent // by conditions
	known   map[[2]*lb.Extent]bool
}

func newOverlapCache(d lb.Dialect) *overlapCache {
	return &overlapCache{dialect: d, extents: map[string]*lb.Extent{}, known: map[[2]*lb.Extent]bool{}}
}

func (p *overlapCache) overlap(a,
	b lb.Rule) bool {
	return p.extentsOverlap(p.extent(a), p.extent(b))
}

// extentsOverlap reports whether the rules of two extents overlap. What lists of texts tell is
// found out again each time: there can be millions of pairs.
func (p *overlapCache) extentsOverlap(a, b *lb.Extent) bool {
	if a.Listed() && b.Listed() {
		return a.Overlaps(b)
	}
	key := [2]*lb.Extent{a, b}
	overlap, known := p.known[key]
	if !known {
		overlap = a.Overlaps(b)
		p.known[key] = overlap
	}
	return overlap
}

// extent is that of a rule, made once.
func (p *overlapCache) extent(r lb.Rule) *lb.Extent {
	key := r.MatchKey()
	if p.extents[key] == nil {
		p.extents[key] = lb.ExtentOf(r, p.dialect)
	}
	return p.extents[key]
}

// plainHosts are the hosts of a rule that names nothing but plain ones, else nil.
func plainHosts(r lb.Rule) []string {
	c := r.Condition("host")
	if c == nil || len(c.Regex) > 0 || slices.ContainsFunc(c.Values, func(v string) bool {
		return strings.ContainsAny(v, "*?")
	}) {
		return nil
	}
	hosts := make([]string, len(c.Values))
	for i, v := range c.Values {
		hosts[i] = strings.ToLower(v)
	}
	return hosts
}
