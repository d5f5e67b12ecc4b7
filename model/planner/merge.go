package planner

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
)

// This file compares two rule lists. It merges the old list and the new one into a single list that
// keeps the order of both, with a change for each line:
//
//	old   new        change     pass
//	 a     a         Kept       -
//	 b     -         Removed    bottom-up
//	 -     c         Added      top-down
//	 d     d'⊇d      Widened    top-down, in place, the action unchanged
//	 e     e'⊆e      Narrowed   bottom-up, in place, the action unchanged
//	 f     f'=f      Switched   top-down, in place, another action
//
// The top-down pass runs first, then the listener's default changes, then the bottom-up pass.
// After every step a request is answered as by the old list or as by the new one, because the
// first line that matches it is
//
//   - a line in its new form. Then no new rule above matches the request: in the top-down pass
//     all of them are there already, or stand there in an old form that matches more, and in
//     the bottom-up pass all of them are there. So the new list starts with this rule, too; or
//   - a line in its old form. Then no old rule above matches the request: in the top-down pass
//     all of them are there, or stand there in a new form that matches more, and in the
//     bottom-up pass nothing above this line has been taken away yet. So does the old list; or
//   - none. In the top-down pass every old rule is there or was widened, so the old list has no
//     match either, and the default is the old one; in the bottom-up pass the same holds of the
//     new list. Between the passes it holds of both, which is when the default may change.
//
// The argument looks at one request at a time. Two steps whose rules no request matches both
// may therefore run in any order. A line whose action is switched hides what is below it in both
// forms, so that nothing below waits for it; it waits for what is added or widened above it, and
// what is removed or narrowed above it waits for it.

// A Change is the change of a line of the merged list.
type Change uint8

const (
	Kept Change = iota
	Removed
	Added
	Widened
	Narrowed
	Switched
)

// A Line is one place in the merged list: the indices of its rule in the old and the new list.
type Line struct {
	Old, New int // or absent
	Change   Change
}

// absent is the index of a rule that a list does not have, or of a task that is not there.
const absent = -1

// Merge finds the longest part of the old list that can stay unchanged, and between two unchanged
// rules, those that can change in place.
func Merge(old, want []lb.Rule, d lb.Dialect) []Line {
	m := merger{old: old, want: want, dialect: d}
	head := 0
	for head < min(len(old), len(want)) && lb.SameRule(old[head], want[head]) {
		head++
	}
	tail := 0
	for tail < min(len(old), len(want))-head &&
		lb.SameRule(old[len(old)-1-tail], want[len(want)-1-tail]) {
		tail++
	}
	for i := range head {
		m.lines = append(m.lines, Line{i, i, Kept})
	}
	m.keepEqual(gap{head, len(old) - tail, head, len(want) - tail}, lb.Rule.Key, Kept, m.keepChanged)
	for i := tail; i > 0; i-- {
		m.lines = append(m.lines, Line{len(old) - i, len(want) - i, Kept})
	}
	return m.lines
}

// A merger builds the merged list.
type merger struct {
	old, want []lb.Rule
	dialect   lb.Dialect
	lines     []Line
}

// A gap is a part of both lists between two lines that are settled.
type gap struct{ oldFrom, oldTo, newFrom, newTo int }

// keepEqual adds lines for rules of a gap with equal keys in both lists, as many as can keep their
// order, with the given change. It calls rest for the gaps between them.
func (m *merger) keepEqual(g gap, key func(lb.Rule) string, f Change, rest func(gap)) {
	from := g
	for _, a := range anchors(m.old[g.oldFrom:g.oldTo], m.want[g.newFrom:g.newTo], key) {
		o, n := g.oldFrom+a.Old, g.newFrom+a.New
		rest(gap{from.oldFrom, o, from.newFrom, n})
		m.lines = append(m.lines, Line{o, n, f})
		from.oldFrom, from.newFrom = o+1, n+1
	}
	rest(from)
}

// keepChanged adds lines for rules that change in place: first those that only get another action.
func (m *merger) keepChanged(g gap) {
	m.keepEqual(g, lb.Rule.MatchKey, Switched, m.reshape)
}

// reshape adds lines for rules of a gap that can be widened or narrowed into one of the new list,
// as many as keep both orders.
func (m *merger) reshape(g gap) {
	const most = 1 << 9 // comparisons; in larger gaps, rules are replaced
	rows, columns := g.oldTo-g.oldFrom, g.newTo-g.newFrom
	if rows*columns > most {
		m.replace(g)
		return
	}
	fates := make([][]Change, rows)
	best := make([][]int, rows+1) // the most pairs of the old rules from i with the new ones from j
	best[rows] = make([]int, columns+1)
	for i := rows - 1; i >= 0; i-- {
		best[i], fates[i] = make([]int, columns+1), make([]Change, columns)
		for j := columns - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			fates[i][j] = m.changeInPlace(m.old[g.oldFrom+i], m.want[g.newFrom+j])
			if fates[i][j] != Removed {
				best[i][j] = max(best[i][j], 1+best[i+1][j+1])
			}
		}
	}
	from, i, j := g, 0, 0
	for i < rows && j < columns {
		switch {
		case fates[i][j] != Removed:
			m.replace(gap{from.oldFrom, g.oldFrom + i, from.newFrom, g.newFrom + j})
			m.lines = append(m.lines, Line{g.oldFrom + i, g.newFrom + j, fates[i][j]})
			i, j = i+1, j+1
			from.oldFrom, from.newFrom = g.oldFrom+i, g.newFrom+j
		case best[i][j] == best[i+1][j]:
			i++
		default:
			j++
		}
	}
	m.replace(from)
}

// changeInPlace returns how an old rule can become a new one in place; Removed if it cannot, as
// when both its action and its conditions change.
func (m *merger) changeInPlace(old, want lb.Rule) Change {
	switch {
	case !lb.SameAction(old.Action, want.Action):
		return Removed
	case lb.Contains(want, old, m.dialect):
		return Widened
	case lb.Contains(old, want, m.dialect):
		return Narrowed
	}
	return Removed
}

// replace removes the old rules of a gap and adds the new ones above them.
func (m *merger) replace(g gap) {
	for n := g.newFrom; n < g.newTo; n++ {
		m.lines = append(m.lines, Line{absent, n, Added})
	}
	for o := g.oldFrom; o < g.oldTo; o++ {
		m.lines = append(m.lines, Line{o, absent, Removed})
	}
}

// An anchor is a pair of positions with equal keys.
type anchor struct{ Old, New int }

// anchors pairs rules of equal key, the first with the first, and returns the longest list of pairs
// that ascends in both lists, and has those that stay.
func anchors(old, want []lb.Rule, key func(lb.Rule) string) []anchor {
	where := map[string][]int{}
	for n, rule := range want {
		k := key(rule)
		where[k] = append(where[k], n)
	}
	var pairs []anchor
	for o, rule := range old {
		k := key(rule)
		if at := where[k]; len(at) > 0 {
			pairs = append(pairs, anchor{o, at[0]})
			where[k] = at[1:]
		}
	}
	for _, stays := range slices.Clone(pairs) {
		if want[stays.New].Stays {
			pairs = slices.DeleteFunc(pairs, func(p anchor) bool {
				return (p.Old < stays.Old) != (p.New < stays.New)
			})
		}
	}
	return longestAscent(pairs)
}

// longestAscent returns the longest part of the pairs whose second positions ascend, as the first
// ones already do. It uses patience sorting: https://en.wikipedia.org/wiki/Patience_sorting.
func longestAscent(pairs []anchor) []anchor {
	var tops []int // for each pile, the pair on top
	// for each pair, the top of the previous pile when it was added
	below := make([]int, len(pairs))
	for i, p := range pairs {
		pile, _ := slices.BinarySearchFunc(tops, p.New, func(top, at int) int {
			return pairs[top].New - at
		})
		if pile > 0 {
			below[i] = tops[pile-1]
		}
		if pile == len(tops) {
			tops = append(tops, i)
		} else {
			tops[pile] = i
		}
	}
	run := make([]anchor, len(tops))
	if len(tops) == 0 {
		return run
	}
	for i, at := len(tops)-1, tops[len(tops)-1]; i >= 0; i, at = i-1, below[at] {
		run[i] = pairs[at]
	}
	return run
}
