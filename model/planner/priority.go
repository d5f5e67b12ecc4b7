package planner

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file assigns priorities to rules. They are sparse, so that there is usually one between two
// neighbours for a new rule, and stable: lasting rules keep theirs. If a gap is full, its
// neighbours are renumbered, all in one call that keeps their order.

// A Numbering has the priority of every line of a merged list, and the rules to renumber first.
type Numbering struct {
	Priority   []int       // by line
	Renumbered map[int]int // old numbers to new ones
}

// Number keeps the priorities of old rules and finds some for added ones. It returns false if the
// range is too small for the old and the new rules together.
func Number(lines []Line, old []int, c lb.Capabilities) (Numbering, bool) {
	high := c.MaxPriority - len(plan.ParkingPriorities(c))
	if len(lines) > high-c.MinPriority+1 {
		return Numbering{}, false
	}
	n := numbers{
		Numbering: Numbering{Priority: make([]int, len(lines)), Renumbered: map[int]int{}},
		fixed:     make([]bool, len(lines)), lines: lines, old: old, low: c.MinPriority, high: high,
	}
	for i, l := range lines {
		if l.Old != absent {
			n.Priority[i], n.fixed[i] = old[l.Old], true
		}
	}
	for i := 0; i < len(lines); i++ {
		if !n.fixed[i] {
			to := i
			for to < len(lines) && !n.fixed[to] {
				to++
			}
			n.place(i, to)
		}
	}
	return n.Numbering, true
}

// numbers holds a Numbering while it is built.
type numbers struct {
	Numbering
	fixed     []bool // the lines that have their number
	settled   int    // the first line that may still be renumbered
	lines     []Line
	old       []int // the numbers of old rules, ascending
	low, high int
}

// place numbers the lines from i up to but not including to. None of them has a number, but both
// neighbours have.
func (n *numbers) place(i, to int) {
	below, above := n.bounds(i, to)
	count, room := to-i, above-below-1
	if count > room {
		n.respace(i, to)
		return
	}
	// Inside the list the gap is shared evenly. At an end a small step is taken: otherwise each rule
	// added there would use half of the rest.
	step := float64(room+1) / float64(count+1)
	end := max(1, float64(n.high-n.low+1)/128)
	first, last := i == 0, to == len(n.lines)
	for k := i; k < to; k++ {
		at := below + int(float64(k-i+1)*step)
		switch {
		case first && last:
		case last:
			at = below + int(float64(k-i+1)*min(step, end))
		case first:
			at = above - int(float64(to-k)*min(step, end))
		}
		n.Priority[k], n.fixed[k] = at, true
	}
}

// bounds returns the numbers around the lines from i up to but not including to.
func (n *numbers) bounds(i, to int) (below, above int) {
	below, above = n.low-1, n.high+1
	if i > 0 {
		below = n.Priority[i-1]
	}
	if to < len(n.lines) {
		above = n.Priority[to]
	}
	return below, above
}

// respace makes room for the lines from i up to but not including to: it widens a window over
// the neighbours until it holds plenty of unused numbers, or as many rules as are worth renumbering.
func (n *numbers) respace(i, to int) {
	const worth = 24
	plenty := (n.high - n.low + 1) / 4
	from, until, renumbered := i, to, 0
	for {
		below, above := n.bounds(from, until)
		used := numbersWithin(n.old, below, above)
		free := above - below - 1 - len(used)
		fits := until-from <= free
		widest := from == n.settled && until == len(n.lines)
		switch {
		case fits && (free >= plenty || renumbered >= worth || widest):
			n.spread(from, until, i, to, used)
			return
		case widest:
			n.restart(i, to)
			return
		}
		var left, right int
		from, left = n.widenLeft(from)
		until, right = n.widenRight(until)
		renumbered += left + right
	}
}

// widenLeft adds an old rule to a window, and returns how many it added.
func (n *numbers) widenLeft(from int) (int, int) {
	for from > n.settled {
		from--
		if n.lines[from].Old != absent {
			return from, 1
		}
	}
	return from, 0
}

// widenRight does the same at the other end, and continues to a numbered line.
func (n *numbers) widenRight(until int) (int, int) {
	if until == len(n.lines) {
		return until, 0
	}
	for until++; until < len(n.lines) && n.lines[until].Old == absent; {
		until++
	}
	return until, 1
}

// restart renumbers every rule of the list. Rules get each other's numbers, which some clouds refuse,
// only if there are too few unused ones.
func (n *numbers) restart(i, to int) {
	used := numbersWithin(n.old, n.low-1, n.high+1)
	if len(n.lines)+len(used) > n.high-n.low+1 {
		used = nil
	}
	n.spread(0, len(n.lines), i, to, used)
}

// spread renumbers all lines of a window with unused numbers. Further rules are likely near added
// ones: the gaps around the lines from i up to but not including to get three quarters of the rest.
func (n *numbers) spread(from, until, i, to int, used []int) {
	below, above := n.bounds(from, until)
	count := until - from
	spare := above - below - 1 - len(used) - count
	hot := to - i + 1 // gaps; the others are count+1-hot
	cold := count + 1 - hot
	weight := max(1, 3*float64(cold)/float64(hot))
	total := float64(cold) + weight*float64(hot)
	share := 0.0
	for k, skipped := from, 0; k < until; k++ {
		if k >= i && k <= to {
			share += weight
		} else {
			share++
		}
		at := below + 1 + (k - from) + int(float64(spare)*share/total)
		for skipped < len(used) && used[skipped] <= at+skipped {
			skipped++
		}
		n.assign(k, at+skipped)
	}
	n.settled = until
}

// assign gives a line a number, and an old rule with it.
func (n *numbers) assign(k, number int) {
	n.Priority[k], n.fixed[k] = number, true
	if o := n.lines[k].Old; o != absent {
		n.Renumbered[n.old[o]] = number
		if number == n.old[o] {
			delete(n.Renumbered, number)
		}
	}
}

// numbersWithin returns the part of ascending numbers between two bounds, without them.
func numbersWithin(ascending []int, below, above int) []int {
	from, _ := slices.BinarySearch(ascending, below+1)
	to, _ := slices.BinarySearch(ascending, above)
	return ascending[from:max(from, to)]
}
