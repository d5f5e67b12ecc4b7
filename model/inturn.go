package model

import "slices"

// This file gives concessions back in turn, namespace by namespace. The attempts that all have in
// common can be used up by the refused Ingresses of one namespace; an Ingress of another one that
// has room is not to stay refused for that.

// inTurns is how many attempts all namespaces have together at most, of which each has its part and
// 4 at most, and 1 at least.
const (
	inTurns  = 64
	mostTurn = 4
)

// A turn is the concessions of one namespace that are to be given back: the newest first, as
// indices.
type turn struct {
	rest []int
	size int // how many are given back at once
}

// next are the oldest of the rest, as many as are given back at once.
func (t *turn) next() []int { return t.rest[len(t.rest)-t.size:] }

// done notes what became of the next ones. All of the rest are tried first, then half of that; one
// that does not fit stays conceded.
func (t *turn) done(fits bool) {
	switch {
	case fits || t.size == 1:
		t.rest = t.rest[:len(t.rest)-t.size]
		t.size = len(t.rest)
	default:
		t.size /= 2
	}
}

// inTurn gives back those of the first n concessions that it turns out not to take, with so many
// attempts at most.
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

// turnsOf are the concessions of each namespace, the namespace with the oldest one first.
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
