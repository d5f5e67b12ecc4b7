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

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file takes a cloud from an operator that may no longer change it.

// A Loan is a provider for as long as an operator may change what is there.
type Loan struct {
	Provider
	may func() error // why nothing may be changed at the moment

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

// Lend lends a provider until it is called back. It is changed only while may returns nil; nil is
// always.
func Lend(p Provider, may func() error) *Loan {
	if may == nil {
		may = func() error { return nil }
	}
	return &Loan{Provider: p, may: may, changes: map[*change]bool{}, idle: make(chan struct{})}
}

// CallBack lets no further change begin, and waits for those that are under way. After patience
// they are ended, and CallBack returns which they were without waiting for them.
func (l *Loan) CallBack(patience time.Duration) error {
	l.mu.Lock()
	if !l.called {
		l.called = true
		l.settle()
	}
	l.mu.Unlock()
	late := time.NewTimer(patience)
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
	return fmt.Errorf("changes that took longer than %s were ended: %s", patience, strings.Join(about, ", "))
}

// errEnded is why a change was ended that took too long.
var errEnded = errors.New("the operator was told to stop, and the change took too long")

// settle closes idle once nothing is under way any more. The lock is held.
func (l *Loan) settle() {
	if l.called && len(l.changes) == 0 {
		close(l.idle)
	}
}

// begin begins a change, if it may.
func (l *Loan) begin(ctx context.Context, about string) (context.Context, func(), error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.called {
		return nil, nil, fmt.Errorf("%s: %w", about, errCalledBack)
	}
	if err := l.may(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", about, err)
	}
	ctx, end := context.WithCancelCause(context.WithValue(ctx, mayKey{}, l.may))
	c := &change{about, end}
	l.changes[c] = true
	return ctx, func() {
		end(nil)
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.changes, c)
		l.settle()
	}, nil
}

var errCalledBack = errors.New("this operator works no longer")

type mayKey struct{}

// MayWrite returns why nothing may be changed for a context at the moment. A provider that makes
// several calls for one change asks before each of them: the process may have been paused, and
// another one may have the lease.
func MayWrite(ctx context.Context) error {
	if may, ok := ctx.Value(mayKey{}).(func() error); ok {
		return may()
	}
	return nil
}

// Apply is for the Provider interface.
func (l *Loan) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	ctx, end, err := l.begin(ctx, fmt.Sprintf("%s %s of %s", step.Op(), step.ID(), seen.Key))
	if err != nil {
		return plan.Result{}, err
	}
	defer end()
	return l.Provider.Apply(ctx, seen, step)
}

// SetTargets is for the Provider interface.
func (l *Loan) SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target) error {
	ctx, end, err := l.begin(ctx, fmt.Sprintf("changing the targets of %s of %s", group, key))
	if err != nil {
		return err
	}
	defer end()
	return l.Provider.SetTargets(ctx, key, group, want)
}
