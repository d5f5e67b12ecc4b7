package providers

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
)

// This file decides which of the waiting calls is made next. It does not depend on time.

// mostFavoured is the number of urgent calls in a row while other calls wait.
const mostFavoured = 3

// A queue holds waiting calls. Load balancers take turns, a call each. Urgent calls go first, but
// at most three of four, so that the others go on.
type queue[C comparable] struct {
	urgent, others rounds[C]
	favoured       int // urgent calls in a row that were made while others waited
}

// push adds a call. Each call without a load balancer counts as that of another one.
func (q *queue[C]) push(key lb.Key, urgent bool, call C) {
	if urgent {
		q.urgent.push(key, call)
	} else {
		q.others.push(key, call)
	}
}

// pop removes the call whose turn it is. The queue must not be empty.
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

// popOther removes the first call of a load balancer that is none of some. If there is none, it
// removes the call whose turn it is. The queue must not be empty.
func (q *queue[C]) popOther(some map[lb.Key]bool) C {
	for _, r := range []*rounds[C]{&q.urgent, &q.others} {
		for i, l := range *r {
			if !some[l.key] || l.key == "" {
				return r.popAt(i)
			}
		}
	}
	return q.pop()
}

// remove removes a call that no longer waits. It returns false if the call was popped.
func (q *queue[C]) remove(call C) bool { return q.urgent.remove(call) || q.others.remove(call) }

func (q *queue[C]) empty() bool { return len(q.urgent) == 0 && len(q.others) == 0 }

// rounds holds lines that take turns, in order.
type rounds[C comparable] []*line[C]

// A line holds the waiting calls of one load balancer, in order.
type line[C comparable] struct {
	key   lb.Key
	calls []C
}

// push appends a call to its line, or a new line to the rounds.
func (r *rounds[C]) push(key lb.Key, call C) {
	at := slices.IndexFunc(*r, func(l *line[C]) bool { return key != "" && l.key == key })
	if at < 0 {
		at = len(*r)
		*r = append(*r, &line[C]{key: key})
	}
	(*r)[at].calls = append((*r)[at].calls, call)
}

// pop removes the first call of the first line, and moves the line to the end.
func (r *rounds[C]) pop() C { return r.popAt(0) }

// popAt removes the first call of a line, and moves the line to the end.
func (r *rounds[C]) popAt(i int) C {
	from := (*r)[i]
	if i == 0 {
		*r = (*r)[1:]
	} else {
		*r = slices.Delete(*r, i, i+1)
	}
	call := from.calls[0]
	if from.calls = from.calls[1:]; len(from.calls) > 0 {
		*r = append(*r, from)
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
