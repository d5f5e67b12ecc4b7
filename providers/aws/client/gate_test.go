package client

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestGatesBeforeNothingAreTakenAway(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		var s Gates
		for n := range 100 {
			s.Set(fmt.Sprint("gone ", n), NewGate(time.Minute, time.Second, time.Minute))
		}
		time.Sleep(gateLife - time.Minute)
		s.Set("there", NewGate(time.Minute, time.Second, time.Minute))
		if len(s.known) != 101 {
			t.Errorf("%d gates, want 101: they are not a day old", len(s.known))
		}
		time.Sleep(gatesShrink + time.Minute)
		s.Set("new", NewGate(time.Minute, time.Second, time.Minute))
		if len(s.known) != 2 || s.known["there"] == nil {
			t.Errorf("%d gates, want two", len(s.known))
		}
	})
}

var errInUse = errors.New("in use")

func inUse(err error) bool { return errors.Is(err, errInUse) }

// A gate lets the first call through after the first wait, and after each refusal one after a wait
// that grows by half. Once a call has succeeded it is open, also for one that fails otherwise.
func TestAGateOpensOnceACallSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(2*time.Second, 4*time.Second, 7*time.Second)
		answer, calls := errInUse, 0
		through := func() error {
			return g.Do(t.Context(), inUse, func() error {
				calls++
				return answer
			})
		}
		for i, wait := range []int{2, 4, 6, 7, 7} {
			time.Sleep(time.Duration(wait)*time.Second - 1)
			if err := through(); !errors.Is(err, ErrShut) || calls != i {
				t.Errorf("call %d comes through before %ds are over, and ends with %v", i, wait, err)
			}
			time.Sleep(time.Nanosecond)
			if err := through(); !errors.Is(err, errInUse) || calls != i+1 {
				t.Errorf("call %d after %ds ends with %v", i, wait, err)
			}
		}
		time.Sleep(7 * time.Second)
		before := calls
		for _, answer = range []error{nil, nil, errors.New("another error"), nil} {
			if err := through(); !errors.Is(err, answer) {
				t.Errorf("a call that ends with %v ends with %v", answer, err)
			}
		}
		if calls != before+4 {
			t.Errorf("%d calls come through an open gate, want 4", calls-before)
		}
		answer = errInUse
		if err := through(); !errors.Is(err, errInUse) {
			t.Errorf("a refused call ends with %v", err)
		}
		if err := through(); !errors.Is(err, ErrShut) {
			t.Errorf("a call after one that was refused ends with %v", err)
		}
	})
}

// No wait is longer than the longest, the first ones included.
func TestNoWaitIsLongerThanTheLongest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(time.Hour, time.Hour, time.Second)
		for range 3 {
			time.Sleep(time.Second)
			if err := g.Do(t.Context(), inUse, func() error { return errInUse }); !errors.Is(err, errInUse) {
				t.Errorf("a call ends with %v", err)
			}
		}
	})
}

// Of calls that come while a gate is shut, one is made at a time, and the success of the first counts
// for those that wait. A caller stops waiting when it is told to.
func TestOneCallIsTriedAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(0, time.Second, time.Second)
		var now, most atomic.Int32
		done := make(chan error)
		for range 3 {
			go func() {
				done <- g.Do(t.Context(), inUse, func() error {
					most.Store(max(most.Load(), now.Add(1)))
					time.Sleep(time.Minute)
					now.Add(-1)
					return nil
				})
			}()
			synctest.Wait()
		}
		told := errors.New("told to stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(told)
		if err := g.Do(ctx, inUse, func() error { return nil }); !errors.Is(err, told) {
			t.Errorf("a call that is told to stop ends with %v", err)
		}
		began := time.Now()
		for range 3 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took != 3*time.Minute || most.Load() != 1 {
			t.Errorf("the calls take %s, and %d are made at a time", took, most.Load())
		}
	})
}

// A thing keeps its gate until another is set, or it is removed.
func TestAThingKeepsItsGate(t *testing.T) {
	var s Gates
	made := 0
	gate := func() *Gate {
		made++
		return NewGate(0, 0, 0)
	}
	first := s.Get("a", gate)
	if s.Get("a", gate) != first || s.Get("b", gate) == first || made != 2 {
		t.Errorf("%d gates are made for two things", made)
	}
	another := NewGate(0, 0, 0)
	s.Set("a", another)
	if s.Get("a", gate) != another {
		t.Error("the gate that was set is not there")
	}
	s.Remove("a")
	if s.Get("a", gate) == another || s.Get("b", gate) == nil || made != 3 {
		t.Errorf("a gate that was removed is there; %d were made", made)
	}
}
