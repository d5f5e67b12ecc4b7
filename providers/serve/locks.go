package serve

import (
	"context"
	"sync"

	"fairlead.dev/fairlead/model/lb"
)

// This file makes changes of one target group's members wait for each other: the client of the
// first change may have given up.

// A groupName identifies a target group.
type groupName struct {
	key   lb.Key
	group lb.GroupID
}

type locks struct {
	mu  sync.Mutex
	all map[groupName]*lock
}

type lock struct {
	users int
	taken chan struct{} // has one element while it is taken
}

func newLocks() *locks { return &locks{all: map[groupName]*lock{}} }

// lock waits until a target group is free, and locks it.
func (l *locks) lock(ctx context.Context, name groupName) (unlock func(), err error) {
	l.mu.Lock()
	one := l.all[name]
	if one == nil {
		one = &lock{taken: make(chan struct{}, 1)}
		l.all[name] = one
	}
	one.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(l.all, name)
		}
	}
	select {
	case one.taken <- struct{}{}:
		return func() { <-one.taken; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
