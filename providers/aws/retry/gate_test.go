package retry

import (
	"fmt"
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
