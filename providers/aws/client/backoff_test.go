package client

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitsOfWhatIsGoneAreForgotten(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		var r Backoff
		for n := range 100 {
			r.Wait(fmt.Sprint("gone ", n), 5*time.Second, 30*time.Second)
		}
		r.Wait("there", 5*time.Second, 30*time.Second)
		time.Sleep(waitLife)
		r.Wait("there", 5*time.Second, 30*time.Second)
		time.Sleep(30 * time.Second)
		r.Wait("there", 5*time.Second, 30*time.Second)
		if r.Len() != 1 {
			t.Errorf("%d waits are remembered, want one", r.Len())
		}
	})
}

// Waits grow by half up to the longest, each thing's by itself, and begin anew once they are
// forgotten.
func TestWaitsGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Backoff
		if b.TooEarly("a") {
			t.Error("it is too early before anything was asked")
		}
		// lasts checks when the wait of a thing ends.
		lasts := func(id string, want time.Duration) {
			t.Helper()
			b.Wait(id, 4*time.Second, 10*time.Second)
			time.Sleep(want - 1)
			if !b.TooEarly(id) {
				t.Errorf("%s may be asked about before %s are over", id, want)
			}
			time.Sleep(time.Nanosecond)
			if b.TooEarly(id) {
				t.Errorf("%s may not be asked about after %s", id, want)
			}
		}
		for _, want := range []int{4, 6, 9, 10, 10} {
			lasts("a", time.Duration(want)*time.Second)
		}
		lasts("b", 4*time.Second)
		b.Forget("a")
		lasts("a", 4*time.Second)

		b.Wait("a", 4*time.Second, 10*time.Second)
		b.Forget("a")
		if b.TooEarly("a") || b.Len() != 1 {
			t.Errorf("a wait goes on that was forgotten; %d are held", b.Len())
		}
	})
}

// A wait is held for an hour after its end.
func TestHowLongAWaitIsHeld(t *testing.T) {
	for after, want := range map[time.Duration]int{waitLife - 1: 2, waitLife: 1} {
		synctest.Test(t, func(t *testing.T) {
			var b Backoff
			b.Wait("a", time.Second, time.Second)
			time.Sleep(time.Second + after)
			b.Wait("b", time.Second, time.Second)
			if b.Len() != want {
				t.Errorf("%s after its end %d waits are held, want %d", after, b.Len(), want)
			}
		})
	}
}
