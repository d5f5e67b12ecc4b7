package providers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// This file ends the changes of an operator that may no longer change a cloud: it has lost its
// lease, or was told to stop.

// A Loan is a provider for as long as an operator may change the cloud.
type Loan struct {
	Provider
	may func() error // returns why nothing may be changed at the moment

	mu      sync.Mutex
	called  bool
	changes map[*change]bool // that are under way
	idle    chan struct{}    // closed once the loan is called back and no change is under way
}

// A change is a call that changes something.
type change struct {
	about string
	end   context.CancelCauseFunc
}

// Lend lends a provider until it is called back. Changes are made only while may returns nil. A nil
// may permits them always.
func Lend(p Provider, may func() error) *Loan {
	if may == nil {
		may = func() error { return nil }
	}
	l := &Loan{may: may, changes: map[*change]bool{}, idle: make(chan struct{})}
	l.Provider = Intercept(p, l.intercept)
	return l
}

// intercept registers the call while it is under way, if it changes something.
func (l *Loan) intercept(ctx context.Context, call Call, next Next) error {
	if !call.Changes() {
		return next(ctx)
	}
	ctx, end, err := l.begin(ctx, fmt.Sprintf("%s of %s", call.Change(), call.Key))
	if err != nil {
		return err
	}
	defer end()
	return next(ctx)
}

// CallBack refuses further changes, and waits for those that are under way. After a timeout it ends
// them, and returns which they were without waiting for them.
func (l *Loan) CallBack(timeout time.Duration) error {
	l.mu.Lock()
	if !l.called {
		l.called = true
		l.closeIfIdle()
	}
	l.mu.Unlock()
	late := time.NewTimer(timeout)
	defer late.Stop()
	select {
	case <-l.idle:
		return nil
	case <-late.C:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var about []string
	for c := range maps.Keys(l.changes) {
		c.end(errEnded)
		about = append(about, c.about)
	}
	if len(about) == 0 {
		return nil
	}
	slices.Sort(about)
	all := strings.Join(about, ", ")
	return fmt.Errorf("changes that took longer than %s were ended: %s", timeout, all)
}

// errEnded is the cause that the context of a change ends with when the change took too long.
var errEnded = errors.New("the operator was told to stop, and the change took too long")

// closeIfIdle closes idle where the loan is called back and no change is under way. The lock is
// held.
func (l *Loan) closeIfIdle() {
	if l.called && len(l.changes) == 0 {
		close(l.idle)
	}
}

// begin registers a change, or returns why it may not be made.
func (l *Loan) begin(
	ctx context.Context, about string,
) (during context.Context, end func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.called {
		return nil, nil, fmt.Errorf("%s: %w", about, errCalledBack)
	}
	if err := l.may(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", about, err)
	}
	during, cancel := context.WithCancelCause(context.WithValue(ctx, mayKey{}, l.may))
	c := &change{about, cancel}
	l.changes[c] = true
	return during, func() {
		cancel(nil)
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.changes, c)
		l.closeIfIdle()
	}, nil
}

var errCalledBack = errors.New("this operator works no longer")

type mayKey struct{}

// MayWrite returns why nothing may be changed for a context at the moment. A provider that makes
// several calls for one change asks before each of them: the process may have been paused, and
// another process may hold the lease.
func MayWrite(ctx context.Context) error {
	if may, ok := ctx.Value(mayKey{}).(func() error); ok {
		return may()
	}
	return nil
}
