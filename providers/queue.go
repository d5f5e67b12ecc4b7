package providers

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
)

// This file decides which of the calls that wait is made next. It knows nothing of time.

// mostFavoured is how many urgent calls are made in a row while others wait.
const mostFavoured = 3

// A queue is calls that wait. Load balancers take turns, a call each, and urgent calls go before
// others: of four calls three at the most, so that the others go on.
type queue[C comparable] struct {
	urgent, others rounds[C]
	favoured       int // urgent calls in a row that were made while others waited
}

// push adds a call. Calls for no load balancer take turns with each other as if each were of
// another one.
func (q *queue[C]) push(key lb.Key, urgent bool, call C) {
	if urgent {
		q.urgent.push(key, call)
	} else {
		q.others.push(key, call)
	}
}

// pop takes the call out whose turn it is. There has to be one.
func (q *queue[C]) pop() C {
	switch {
	case len(q.others) == 0:
		q.favoured = 0
		return q.urgent.pop()
	case len(q.urgent) == 0, q.favoured == mostFavoured:
		q.favoured = 0
		return q.others.pop()
	}
	q.favoured++
	return q.urgent.pop()
}

// remove takes a call out that waits no longer. It returns false if it is not there any more.
func (q *queue[C]) remove(call C) bool { return q.urgent.remove(call) || q.others.remove(call) }

func (q *queue[C]) empty() bool { return len(q.urgent) == 0 && len(q.others) == 0 }

// Rounds are lines that take turns; the first one's turn is next.
type rounds[C comparable] []*line[C]

// A line is the calls of one load balancer that wait, in their order.
type line[C comparable] struct {
	key   lb.Key
	calls []C
}

// push puts a call at the end of its line, and a new line behind the others.
func (r *rounds[C]) push(key lb.Key, call C) {
	at := slices.IndexFunc(*r, func(l *line[C]) bool { return key != "" && l.key == key })
	if at < 0 {
		at = len(*r)
		*r = append(*r, &line[C]{key: key})
	}
	(*r)[at].calls = append((*r)[at].calls, call)
}

// pop lets the first call of the first line go, and the line to the end of all lines.
func (r *rounds[C]) pop() C {
	first := (*r)[0]
	*r = (*r)[1:]
	call := first.calls[0]
	if first.calls = first.calls[1:]; len(first.calls) > 0 {
		*r = append(*r, first)
	}
	return call
}

func (r *rounds[C]) remove(call C) bool {
	for i, l := range *r {
		if at := slices.Index(l.calls, call); at >= 0 {
			if l.calls = slices.Delete(l.calls, at, at+1); len(l.calls) == 0 {
				*r = slices.Delete(*r, i, i+1)
			}
			return true
		}
	}
	return false
}
