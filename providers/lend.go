package providers

import (
	"context"
	"fmt"
	"sync"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file takes a cloud from an operator that may no longer change it, and whose work under way
// nobody waits for.

// A Loan is a provider until it is called back. From then on it only reads.
type Loan struct {
	Provider

	mu     sync.RWMutex // read-locked while a change is under way
	called bool
}

// Lend lends a provider.
func Lend(p Provider) *Loan { return &Loan{Provider: p} }

// CallBack waits for the changes that are under way, and is the end of them.
func (l *Loan) CallBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.called = true
}

// Apply is for the Provider interface.
func (l *Loan) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.called {
		return plan.Result{}, fmt.Errorf("changing %s: the cloud was called back: %s %s", seen.Key, step.Op(), step.ID())
	}
	return l.Provider.Apply(ctx, seen, step)
}

// SetTargets is for the Provider interface.
func (l *Loan) SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.called {
		return fmt.Errorf("changing %s: the cloud was called back: the targets of %s", key, group)
	}
	return l.Provider.SetTargets(ctx, key, group, want)
}
