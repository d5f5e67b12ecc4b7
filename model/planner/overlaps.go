package planner

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
)

// A ruleOrder finds the steps of one listener that must keep their order: those whose rules
// overlap. If a rule may overlap too many others to compare, its step becomes a barrier: it waits
// for all steps since the last barrier, and all later steps wait for it.
type ruleOrder struct {
	index
	barrier int // the last one, or absent
}

// mostCompared is the most rules that a rule is compared with: twice the usual limit of a listener,
// so that at that limit no step waits without need.
const mostCompared = 200

func newRuleOrder(p *overlapCache) *ruleOrder {
	return &ruleOrder{index: newIndex(p),
		barrier: absent}
}

// place adds a task, and returns the tasks that it must wait for.
func (l *ruleOrder) place(e entry) []int {
	if len(l.candidates(e.rule)) > mostCompared {
		return l.placeBarrier(e.at)
	}
	after := l.predecessors(e.rule)
	l.add(e)
	return after
}

// predecessors returns the tasks that a rule's task must wait for, without adding the task.
func (l *ruleOrder) predecessors(r lb.Rule) []int {
	after := l.overlapping(r)
	if l.barrier != absent {
		after = append(after, l.barrier)
	}
	return after
}

// placeBarrier makes a task a barrier, and returns the tasks that it must wait for.
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

// An index finds the rules that overlap a given one. Rules with plain hosts are compared only with
// rules for the same hosts and with rules without plain hosts.
type index struct {
	overlaps *overlapCache
	entries  []entry
	extents  []*lb.Extent     // of their rules, made when needed
	byHost   map[string][]int // of plain hosts, positions in entries
	anyHost  []int            // positions of rules without plain hosts
}

// An entry is a rule, with the index of its task or line.
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

// overlapping returns the indices of the entries that overlap a rule, in the order of entry.
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

// An overlapCache caches which rules overlap, because this can be slow and is needed often.
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

// extentsOverlap reports whether the rules of two extents overlap. Results for lists of texts are
// not cached: there can be millions of pairs.
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

// extent returns the extent of a rule, made once.
func (p *overlapCache) extent(r lb.Rule) *lb.Extent {
	key := r.MatchKey()
	if p.extents[key] == nil {
		p.extents[key] = lb.ExtentOf(r, p.dialect)
	}
	return p.extents[key]
}

// plainHosts returns the hosts of a rule if all are plain, else nil.
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
