package planner

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
)

// Lanes find out which steps of one listener must keep their order: those whose rules a request
// can match both. Where a rule meets too many others to compare, its step becomes a barrier
// instead, which waits for everything since the last barrier and holds up everything after it.
type lanes struct {
	index
	barrier int // the last one, or absent
}

// crowd is how many rules a rule is compared with at most: twice what a listener usually may
// have, so that at a limit no step waits for another without need.
const crowd = 200

func newLanes(p *pairs) *lanes { return &lanes{index: newIndex(p), barrier: absent} }

// enter puts a task behind those that it must wait for, and returns these.
func (l *lanes) enter(e entry) []int {
	if len(l.near(e.rule)) > crowd {
		return l.bar(e.at)
	}
	after := l.pass(e.rule)
	l.add(e)
	return after
}

// pass returns what a task must wait for, and lets nothing wait for the task.
func (l *lanes) pass(r lb.Rule) []int {
	after := l.meeting(r)
	if l.barrier != absent {
		after = append(after, l.barrier)
	}
	return after
}

// bar makes a task a barrier, and returns what it must wait for.
func (l *lanes) bar(task int) []int {
	after := make([]int, 0, len(l.entries)+1)
	for _, e := range l.entries {
		after = append(after, e.at)
	}
	if l.barrier != absent {
		after = append(after, l.barrier)
	}
	*l = lanes{index: newIndex(l.pairs), barrier: task}
	return after
}

// An index finds the rules that a request can match besides a given one. Rules that name plain
// hosts meet only in the lanes of those hosts, all others cross every lane.
type index struct {
	pairs    *pairs
	entries  []entry
	extents  []*lb.Extent     // of their rules, once they are asked for
	byHost   map[string][]int // of plain hosts, positions in entries
	crossing []int            // positions of those that cross every lane
}

// An entry is a rule, or the requests that a task concerns, and what it is found for: a task or
// a line.
type entry struct {
	at   int
	rule lb.Rule
}

func newIndex(p *pairs) index { return index{pairs: p, byHost: map[string][]int{}} }

func (x *index) add(e entry) {
	position := len(x.entries)
	x.entries, x.extents = append(x.entries, e), append(x.extents, nil)
	hosts := plainHosts(e.rule)
	if hosts == nil {
		x.crossing = append(x.crossing, position)
	}
	for _, h := range hosts {
		x.byHost[h] = append(x.byHost[h], position)
	}
}

// meeting is what the entries that overlap a rule are found for, in the order of entry.
func (x *index) meeting(r lb.Rule) []int {
	var out []int
	own := x.pairs.extent(r)
	for _, position := range x.near(r) {
		if x.extents[position] == nil {
			x.extents[position] = x.pairs.extent(x.entries[position].rule)
		}
		if x.pairs.meet(x.extents[position], own) {
			out = append(out, x.entries[position].at)
		}
	}
	return out
}

// near are the positions of the rules that share a lane with a rule.
func (x *index) near(r lb.Rule) []int {
	hosts := plainHosts(r)
	if hosts == nil {
		all := make([]int, len(x.entries))
		for i := range all {
			all[i] = i
		}
		return all
	}
	near := slices.Clone(x.crossing)
	for _, h := range hosts {
		near = append(near, x.byHost[h]...)
	}
	slices.Sort(near)
	return slices.Compact(near)
}

// Pairs remember which rules overlap. That can be dear to find out, and is asked again and again.
type pairs struct {
	dialect lb.Dialect
	extents map[string]*lb.Extent // by conditions
	known   map[[2]*lb.Extent]bool
}

func newPairs(d lb.Dialect) *pairs {
	return &pairs{dialect: d, extents: map[string]*lb.Extent{}, known: map[[2]*lb.Extent]bool{}}
}

func (p *pairs) overlap(a, b lb.Rule) bool { return p.meet(p.extent(a), p.extent(b)) }

// meet reports whether the rules of two extents overlap. What lists of texts tell is found out
// again each time: there can be millions of pairs.
func (p *pairs) meet(a, b *lb.Extent) bool {
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
func (p *pairs) extent(r lb.Rule) *lb.Extent {
	key := r.MatchKey()
	if p.extents[key] == nil {
		p.extents[key] = lb.ExtentOf(r, p.dialect)
	}
	return p.extents[key]
}

// plainHosts are the hosts of a rule that names nothing but plain ones, else nil.
func plainHosts(r lb.Rule) []string {
	c := r.Condition("host")
	if c == nil || len(c.Regex) > 0 || slices.ContainsFunc(c.Values, func(v string) bool { return strings.ContainsAny(v, "*?") }) {
		return nil
	}
	hosts := make([]string, len(c.Values))
	for i, v := range c.Values {
		hosts[i] = strings.ToLower(v)
	}
	return hosts
}
