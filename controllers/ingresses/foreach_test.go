package ingresses

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// forEach is ForEach, which no context ends.
func forEach(_ context.Context, n int, do func(int) error) error { return ForEach(n, do) }

// Eight Ingresses are written at a time, and each of them is.
func TestEightIngressesAreWrittenAtATime(t *testing.T) {
	for name, each := range map[string]func(context.Context, int, func(int) error) error{
		"to the end": forEach, "until error": ForEachUntilError,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var calls, now, most atomic.Int32
				err := each(t.Context(), 20, func(int) error {
					calls.Add(1)
					if n := now.Add(1); n > most.Load() {
						most.Store(n)
					}
					time.Sleep(time.Second)
					now.Add(-1)
					return nil
				})
				if took := time.Since(began); err != nil || calls.Load() != 20 || most.Load() != mostAtOnce || took != 3*time.Second {
					t.Errorf("%d calls, %d at once, took %s and end with %v", calls.Load(), most.Load(), took, err)
				}
			})
		})
	}
}

// ForEach calls for every Ingress whatever fails; ForEachUntilError begins nothing after an error.
func TestErrorsOfSeveralWrites(t *testing.T) {
	failure := errors.New("conflict")
	for name, c := range map[string]struct {
		each func(context.Context, int, func(int) error) error
		all  bool
	}{
		"to the end":  {forEach, true},
		"until error": {ForEachUntilError, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int32
				err := c.each(t.Context(), 20, func(i int) error {
					calls.Add(1)
					if i == 2 {
						return failure
					}
					time.Sleep(time.Second)
					return nil
				})
				if !errors.Is(err, failure) || (calls.Load() == 20) != c.all {
					t.Errorf("%d calls end with %v", calls.Load(), err)
				}
			})
		})
	}
}
