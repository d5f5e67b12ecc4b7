package client

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A value that is old enough is not read again, and an error keeps the one before it.
func TestAValueIsReadWhereItIsTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var v Cached[int]
		calls := 0
		read := func() (int, error) { calls++; return calls, nil }
		since := func(when time.Time, want int) {
			t.Helper()
			if got, err := v.ReadSince(when, read); err != nil || got != want {
				t.Errorf("%d, %v; want %d", got, err, want)
			}
		}
		start := time.Now()
		since(start, 1)
		time.Sleep(time.Second)
		since(start, 1)
		since(time.Now(), 2)
		time.Sleep(time.Second)
		failed := errors.New("refused")
		if _, err := v.ReadSince(time.Now(), func() (int, error) { return 9, failed }); !errors.Is(err, failed) {
			t.Errorf("error %v", err)
		}
		if v.Last() != 2 {
			t.Errorf("the last value is %d", v.Last())
		}
		since(time.Now(), 3)
	})
}

func TestSimultaneousReadersShareACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var v Cached[int]
		calls := 0
		when := time.Now()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				got, err := v.ReadSince(when, func() (int, error) {
					time.Sleep(time.Second)
					calls++
					return calls, nil
				})
				if got != 1 || err != nil {
					t.Errorf("%d, %v", got, err)
				}
			})
		}
		all.Wait()
		if calls != 1 {
			t.Errorf("%d calls", calls)
		}
	})
}
