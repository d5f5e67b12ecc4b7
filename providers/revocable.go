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

// A Revocable is a provider that changes the cloud only while a check permits it.
type Revocable struct {
	Provider
	check func() error // returns the reason for which no change is permitted at the moment

	mu      sync.Mutex
	revoked bool
	changes map[*change]bool // that are under way
	idle    chan struct{}    // closed once Revoke was called and no change is under way
}

// A change is a call that changes something.
type change struct {
	about string
	end   context.CancelCauseFunc
}

// NewRevocable returns a provider that makes changes until Revoke, and only while check returns nil. A nil
// check permits every change.
func NewRevocable(p Provider, check func() error) *Revocable {
	if check == nil {
		check = func() error { return nil }
	}
	r := &Revocable{check: check, changes: map[*change]bool{}, idle: make(chan struct{})}
	r.Provider = Intercept(p, r.intercept)
	return r
}

// intercept registers the call while it is under way, if it changes something.
func (r *Revocable) intercept(ctx context.Context, call Call, next Next) error {
	if !call.Changes() {
		return next(ctx)
	}
	ctx, end, err := r.begin(ctx, fmt.Sprintf("%s of %s", call.Change(), call.Key))
	if err != nil {
		return err
	}
	defer end()
	return next(ctx)
}

// Revoke refuses further changes, and waits for those that are under way. After a timeout it ends
// them, and returns an error that names them, without waiting for them.
func (r *Revocable) Revoke(timeout time.Duration) error {
	r.mu.Lock()
	if !r.revoked {
		r.revoked = true
		r.closeIfIdle()
	}
	r.mu.Unlock()
	late := time.NewTimer(timeout)
	defer late.Stop()
	select {
	case <-r.idle:
		return nil
	case <-late.C:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var about []string
	for c := range maps.Keys(r.changes) {
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

// closeIfIdle closes idle if Revoke was called and no change is under way. The lock is held.
func (r *Revocable) closeIfIdle() {
	if r.revoked && len(r.changes) == 0 {
		close(r.idle)
	}
}

// begin registers a change, or returns the reason for which it may not be made.
func (r *Revocable) begin(
	ctx context.Context, about string,
) (during context.Context, end func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.revoked {
		return nil, nil, fmt.Errorf("%s: %w", about, errRevoked)
	}
	if err := r.check(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", about, err)
	}
	during, cancel := context.WithCancelCause(context.WithValue(ctx, mayKey{}, r.check))
	c := &change{about, cancel}
	r.changes[c] = true
	return during, func() {
		cancel(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.changes, c)
		r.closeIfIdle()
	}, nil
}

var errRevoked = errors.New("this operator has lost its lease or is stopping")

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
