package model

import "slices"

// This file undoes concessions in turn, namespace by namespace. The refused Ingresses of one
// namespace can use up the common attempts; Ingresses of other namespaces that fit must not stay
// refused because of this.

// inTurns is the most attempts of all namespaces together. Each has an equal part, from 1 to 4.
const (
	inTurns  = 64
	mostTurn = 4
)

// A turn has the indices of the concessions of one namespace, the newest first.
type turn struct {
	rest []int
	size int // number that are undone at once
}

// next returns the oldest of the rest that are undone at once.
func (t *turn) next() []int { return t.rest[len(t.rest)-t.size:] }

// done records whether the next ones fit. All of the rest are tried first, then half of them. A
// single one that does not fit stays conceded.
func (t *turn) done(fits bool) {
	switch {
	case fits || t.size == 1:
		t.rest = t.rest[:len(t.rest)-t.size]
		t.size = len(t.rest)
	default:
		t.size /= 2
	}
}

// inTurn undoes the unnecessary ones of the first n concessions, with at most this many attempts.
func inTurn(possible []concession, made []int, n, most int, known *needs,
	suffice func(made []int) bool) []int {
	given := make(map[int]bool, n)
	left := func() []int {
		return slices.DeleteFunc(slices.Clone(made), func(i int) bool { return given[i] })
	}
	turns := turnsOf(possible, made[:n])
	for range min(mostTurn, max(1, most/max(1, len(turns)))) {
		for _, t := range turns {
			for len(t.rest) > 0 && known.exceeded(t.next()...) {
				t.done(false)
			}
			if len(t.rest) == 0 {
				continue
			}
			next := t.next()
			give := func(back bool) {
				for _, i := range next {
					given[i] = back
				}
			}
			give(true)
			fits := suffice(left())
			give(fits)
			if fits {
				known.serve(next...)
			}
			t.done(fits)
		}
	}
	return left()
}

// turnsOf returns the concessions of each namespace, the namespace with the oldest one first.
func turnsOf(possible []concession, made []int) []*turn {
	var out []*turn
	of := map[string]*turn{}
	for _, i := range slices.Backward(made) {
		namespace := possible[i].Owner.Namespace
		if of[namespace] == nil {
			of[namespace] = &turn{}
			out = append(out, of[namespace])
		}
		of[namespace].rest = append(of[namespace].rest, i)
	}
	for _, t := range out {
		slices.Reverse(t.rest)
		t.size = len(t.rest)
	}
	return out
}
