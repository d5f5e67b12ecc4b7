package queue

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// This file lets changes come together, and one by one.

func TestABurstIsOneChange(t *testing.T) {
	for name, c := range map[string]struct {
		every time.Duration // how far changes are apart
		times int
		want  int // how often somebody gets to work
	}{
		"one alone":                   {time.Hour, 1, 1},
		"twenty, one after the other": {200 * time.Millisecond, 20, 1},
		"two that have nothing to do with each other":         {time.Minute, 2, 2},
		"somebody who never stops does not hold everybody up": {400 * time.Millisecond, 50, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := inBursts[string](500*time.Millisecond)("test", workqueue.DefaultTypedControllerRateLimiter[string]())
				got := 0
				go func() {
					for {
						k, over := q.Get()
						if over {
							return
						}
						got++
						q.Done(k)
					}
				}()
				for range c.times {
					q.Add("key")
					time.Sleep(c.every)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if got != c.want {
					t.Errorf("somebody got to work %d times, not %d", got, c.want)
				}
				q.ShutDown()
			})
		})
	}
}

func TestWhatComesBackDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := inBursts[string](time.Hour)("test", workqueue.DefaultTypedControllerRateLimiter[string]())
		defer q.ShutDown()
		began := time.Now()
		q.AddAfter("key", time.Second)
		if _, _ = q.Get(); time.Since(began) != time.Second {
			t.Errorf("it waited %s", time.Since(began))
		}
	})
}
