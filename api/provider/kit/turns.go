package kit

import (
	"context"
	"sync"
)

// A turn is that of a load balancer, or of the members of one of its target groups. Changes take
// turns: the client of the first one may have given up.
type turn struct{ key, group string }

// turns hands out turns.
type turns struct {
	mu  sync.Mutex
	all map[turn]*waiting
}

type waiting struct {
	users int
	taken chan struct{} // has one element while it is taken
}

func newTurns() *turns { return &turns{all: map[turn]*waiting{}} }

// take waits for a turn.
func (t *turns) take(ctx context.Context, name turn) (leave func(), err error) {
	t.mu.Lock()
	one := t.all[name]
	if one == nil {
		one = &waiting{taken: make(chan struct{}, 1)}
		t.all[name] = one
	}
	one.users++
	t.mu.Unlock()
	forget := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(t.all, name)
		}
	}
	select {
	case one.taken <- struct{}{}:
		return func() { <-one.taken; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, context.Cause(ctx)
	}
}
