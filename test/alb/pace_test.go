package alb

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/albsim"
)

// This file is about rates: AWS refuses who asks too fast.

// rushed counts the calls that are refused for their rate while eighty Ingresses are served from
// nothing, the calls that the provider tells of, and those that AWS saw.
func rushed(t *testing.T, o albsim.Options) (refused, told, calls int) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, o)
		var mu sync.Mutex
		w.requested = func(r client.Request) {
			mu.Lock()
			defer mu.Unlock()
			told++
			if r.Result == "Throttling" {
				refused++
			}
		}
		w.restart()
		for i := range 80 {
			service := fmt.Sprintf("service-%d", i)
			w.service(service, 1)
			w.serve(fmt.Sprintf("site-%02d", i), map[string]string{"/": service})
			if i < 20 {
				secure(w, fmt.Sprintf("site-%02d", i))
			}
		}
		began := time.Now()
		w.settle()
		total, _ := w.sim.Cost()
		calls = total
		t.Logf("%d calls, %d of them refused, in %s", calls, refused, time.Since(began).Round(time.Second))
	})
	return refused, told, calls
}

func TestNobodyAsksFasterThanAWSGrants(t *testing.T) {
	refused, told, calls := rushed(t, albsim.Options{Rates: albsim.Published()})
	if refused > 0 {
		t.Errorf("%d of %d calls are refused for their rate", refused, calls)
	}
	if told != calls {
		t.Errorf("%d calls are told of, and %d were made", told, calls)
	}
}

// Somebody else has used up most of what the account is granted: few calls are made in vain.
func TestWhoIsRefusedSlowsDown(t *testing.T) {
	rates := albsim.Published()
	rates["write"] = albsim.Rate{Burst: 2, PerSecond: 0.75}
	refused, _, calls := rushed(t, albsim.Options{Rates: rates})
	if refused == 0 || refused > calls/5 {
		t.Errorf("%d of %d calls are refused for their rate, want some and few", refused, calls)
	}
}
