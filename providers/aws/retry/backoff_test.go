package retry

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
