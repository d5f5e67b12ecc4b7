package ingresses

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Eight Ingresses are written at a time, and each of them is, whatever fails.
func TestEightIngressesAreWrittenAtATime(t *testing.T) {
	failure := errors.New("conflict")
	for name, c := range map[string]error{"without errors": nil, "after an error": failure} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var calls, now, most atomic.Int32
				err := ForEach(20, func(i int) error {
					calls.Add(1)
					if n := now.Add(1); n > most.Load() {
						most.Store(n)
					}
					time.Sleep(time.Second)
					now.Add(-1)
					if i == 2 {
						return c
					}
					return nil
				})
				if took := time.Since(began); !errors.Is(err, c) || calls.Load() != 20 || most.Load() != mostAtOnce || took != 3*time.Second {
					t.Errorf("%d calls, %d at once, took %s and end with %v", calls.Load(), most.Load(), took, err)
				}
			})
		})
	}
}
