package providers_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file simulates endpoints that are slow, refuse calls, or lose them, in simulated time.

var seed = flag.Uint64("seed", 0, "the `seed` of random endpoints; 0 draws one")

// The times that the simulated calls have.
const (
	attempt  = 15 * time.Second // within which an answer is to come
	longest  = time.Minute      // after which a caller no longer waits
	patience = 100 * time.Hour  // after which a simulation has failed
)

// An endpoint carries out some calls at a time, in the order in which they come. It carries out each
// that it has not refused, whether or not the caller still waits.
type endpoint struct {
	*testing.T
	bound   *providers.InFlight
	places  chan struct{}
	mu      sync.Mutex
	each    time.Duration              // that a call takes
	faults  func() (refuse, lose bool) // nil for none
	arrived int
	done    map[string]int // how often each call was carried out
	lost    int            // answers that did not come
	waiting int            // calls that came and are not carried out yet
	crowd   int            // the most of them
	beyond  time.Time      // when the last one was sent beyond the limit
	bounds
}

// bounds are what the bound has told.
type bounds struct{ underWay, limit, least, most int }

func newEndpoint(t *testing.T, places int, each time.Duration) *endpoint {
	e := &endpoint{T: t, places: make(chan struct{}, places), each: each, done: map[string]int{}, bounds: bounds{least: 1000}}
	e.bound = providers.NewInFlight(attempt, longest, e.told)
	return e
}

// told checks what the bound tells of itself: no call is sent beyond the limit but one.
func (e *endpoint) told(underWay, limit int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if underWay > e.underWay && underWay > limit {
		if since := time.Since(e.beyond); since < attempt/3 {
			e.Errorf("%d calls are under way, and the limit is %d; the last one beyond it was sent %s ago", underWay, limit, since)
		}
		e.beyond = time.Now()
	}
	if limit < 1 || limit > 100 {
		e.Errorf("the limit is %d", limit)
	}
	e.bounds = bounds{underWay, limit, min(e.least, limit), max(e.most, limit)}
}

func (e *endpoint) set(each time.Duration, faults func() (refuse, lose bool)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.each, e.faults = each, faults
}

// take is a call at the endpoint. It returns false if it is refused.
func (e *endpoint) take(name string) (accepted, answered bool) {
	e.mu.Lock()
	e.arrived++
	refuse, lose := false, false
	if e.faults != nil {
		refuse, lose = e.faults()
	}
	if refuse {
		e.mu.Unlock()
		return false, true
	}
	e.waiting++
	e.crowd = max(e.crowd, e.waiting)
	e.mu.Unlock()
	e.places <- struct{}{}
	e.mu.Lock()
	each := e.each
	e.mu.Unlock()
	time.Sleep(each)
	<-e.places
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting--
	e.done[name]++
	return true, !lose
}

var errRefused = errors.New("refused")

// call makes a call, and waits for its answer.
func (e *endpoint) call(ctx context.Context, name string) error {
	sent, err := e.bound.Send(ctx, "change")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	answer := make(chan error, 1)
	go func() {
		switch accepted, answered := e.take(name); {
		case !accepted:
			answer <- errRefused
		case answered:
			answer <- nil
		}
	}()
	select {
	case err = <-answer:
		how := providers.Answered
		if err != nil {
			how = providers.Refused
		}
		sent.End(how)
		return err
	case <-ctx.Done():
		sent.End(providers.Lost)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.lost++
		return ctx.Err()
	}
}

// insist repeats a call until it was carried out. After an answer that does not come it looks, when
// the call is over, as the operator does.
func (e *endpoint) insist(ctx context.Context, name string) {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Minute) {
		err := e.call(ctx, name)
		switch {
		case err == nil:
			return
		case errors.Is(err, context.DeadlineExceeded):
			time.Sleep(longest)
			e.mu.Lock()
			carriedOut := e.done[name] > 0
			e.mu.Unlock()
			if carriedOut {
				return
			}
		default:
			time.Sleep(wait)
		}
	}
}

// work makes calls for load balancers, four at a time for each, and returns how long that takes.
func (e *endpoint) work(ctx context.Context, balancers, calls int) time.Duration {
	began := time.Now()
	var all sync.WaitGroup
	for b := range balancers {
		key := lb.Key(fmt.Sprint("balancer-", b))
		next := make(chan int, calls)
		for c := range calls {
			next <- c
		}
		close(next)
		for range 4 {
			all.Go(func() {
				for c := range next {
					e.insist(providers.WithKey(ctx, key), fmt.Sprintf("%s %d", key, c))
				}
			})
		}
	}
	all.Wait()
	return time.Since(began)
}

// However slow an endpoint is, each call is sent once, and the endpoint always has one to carry out.
func TestASlowEndpointGetsWhatItCanCarryOut(t *testing.T) {
	for _, places := range []int{1, 3} {
		for _, each := range []time.Duration{
			time.Millisecond, 300 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second, 25 * time.Second,
		} {
			t.Run(fmt.Sprintf("%d at a time in %s", places, each), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					e := newEndpoint(t, places, each)
					took := e.work(t.Context(), 10, 60)
					needed := 600 * each / time.Duration(places)
					if took > needed*13/10 {
						t.Errorf("it takes %s, and the endpoint needs %s", took, needed)
					}
					// Where a few calls take longer than they may, some are lost.
					if most := int(each/(25*time.Second)) * 30; e.arrived > 600+most || e.lost > most {
						t.Errorf("%d calls are sent, want 600; %d are not answered in time", e.arrived, e.lost)
					}
					if e.underWay != 0 {
						t.Errorf("%d calls are under way at the end", e.underWay)
					}
				})
			})
		}
	}
}

// An endpoint that answers at once however many calls it gets, or after a while, gets many.
func TestAnEndpointWithRoomIsFilled(t *testing.T) {
	for _, each := range []time.Duration{10 * time.Millisecond, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			e := newEndpoint(t, 1000, each)
			took := e.work(t.Context(), 10, 400) // 40 at a time
			if most := each * 105; took > most {
				t.Errorf("4,000 calls take %s, want at most %s", took, most)
			}
		})
	}
}

// An endpoint becomes slow in the middle, and fast again: nothing is lost, and the rate follows.
func TestALimitFollowsAnEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEndpoint(t, 40, 20*time.Millisecond)
		time.AfterFunc(time.Second, func() { e.set(40*time.Second, nil) })
		time.AfterFunc(21*time.Minute, func() { e.set(20*time.Millisecond, nil) })
		took := e.work(t.Context(), 10, 1000)
		if took > 23*time.Minute {
			t.Errorf("it takes %s, want some seconds after the endpoint is fast again", took)
		}
		if e.least > 10 || e.limit < 20 {
			t.Errorf("the limit was %d while the endpoint was slow, and is %d at the end", e.least, e.limit)
		}
		if e.lost > 0 || e.arrived != 10_000 {
			t.Errorf("%d calls are not answered in time, and %d are sent", e.lost, e.arrived)
		}
	})
}

// Answers that refuse a call because of load halve the limit, once for all calls of a round.
func TestRefusalsLowerALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEndpoint(t, 1000, 10*time.Millisecond)
		e.work(t.Context(), 10, 100)
		before := e.limit
		var round []*providers.Sent
		for range 40 {
			s, err := e.bound.Send(t.Context(), "change")
			if err != nil {
				t.Fatal(err)
			}
			round = append(round, s)
		}
		for _, s := range round {
			s.End(providers.Refused)
		}
		if e.limit != before/2 {
			t.Errorf("the limit was %d, and is %d after a round of refusals", before, e.limit)
		}
	})
}

// Calls that hang do not delay those that are answered, however many of them there are. Each load balancer whose call
// hangs beyond the limit doubles the pause before the next call.
func TestCallsThatHangDelayNoOthers(t *testing.T) {
	for name, hanging := range map[string]struct {
		of   func(i int) int // the load balancer of a call
		most time.Duration
	}{
		"of three load balancers, sent in turn":    {func(i int) int { return i % 3 }, 12 * time.Second},
		"of three load balancers, sent one by one": {func(i int) int { return i / 4 }, 45 * time.Second},
		"of one load balancer":                     {func(int) int { return 0 }, 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bound := providers.NewInFlight(attempt, longest, nil)
				ctx, cancel := context.WithCancel(t.Context())
				var all sync.WaitGroup
				for i := range 12 {
					all.Go(func() {
						sent, err := bound.Send(providers.WithKey(ctx, lb.Key(fmt.Sprint("silent-", hanging.of(i)))), "change")
						if err != nil {
							return
						}
						<-ctx.Done()
						sent.End(providers.Cancelled)
					})
					synctest.Wait() // their order decides how long others wait
				}
				began := time.Now()
				for range 100 {
					sent, err := bound.Send(providers.WithKey(ctx, "other"), "change")
					if err != nil {
						t.Fatal(err)
					}
					time.Sleep(10 * time.Millisecond)
					sent.End(providers.Answered)
				}
				if took := time.Since(began); took > hanging.most {
					t.Errorf("a hundred calls take %s beside those that hang", took)
				}
				cancel()
				all.Wait()
			})
		})
	}
}

// An endpoint that answers nothing gets a call a minute: it may have all those that were sent. Once
// it answers one, all others are sent.
func TestASilentEndpointGetsFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEndpoint(t, 1000, time.Millisecond)
		silent := true
		e.set(time.Millisecond, func() (refuse, lose bool) { return false, silent })
		var all sync.WaitGroup
		all.Go(func() { e.work(t.Context(), 10, 60) })
		time.Sleep(30 * time.Minute)
		e.mu.Lock()
		if e.arrived > 4+4+30 {
			t.Errorf("%d calls were sent in half an hour", e.arrived)
		}
		silent = false
		e.mu.Unlock()
		began := time.Now()
		all.Wait()
		// The last ones that were lost are looked up a minute after they were given up.
		if took := time.Since(began); took > 4*time.Minute {
			t.Errorf("once there are answers it takes %s", took)
		}
	})
}

// An urgent call is the next one that is sent, and waits only for those that were sent before.
func TestAnUrgentCallGoesFirstToASlowEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEndpoint(t, 1, time.Second)
		var all sync.WaitGroup
		all.Go(func() { e.work(t.Context(), 10, 30) })
		time.Sleep(time.Minute)
		began := time.Now()
		if err := e.call(providers.WithUrgency(providers.WithKey(t.Context(), "restricted"), true), "urgent"); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("an urgent call takes %s", took)
		}
		all.Wait()
	})
}

// A call waits for its turn until its context ends, and is told of as waiting for as long.
func TestAWaitForRoomEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bound := providers.NewInFlight(time.Hour, 4*time.Hour, nil)
		var sent []*providers.Sent
		for range 4 {
			s, err := bound.Send(t.Context(), "change")
			if err != nil {
				t.Fatal(err)
			}
			sent = append(sent, s)
		}
		var waits atomic.Int32
		ctx, cancel := context.WithTimeout(providers.WithAsker(t.Context(), providers.Asker{Waits: func() func() {
			waits.Add(1)
			return func() { waits.Add(-1) }
		}}), time.Minute)
		defer cancel()
		began := time.Now()
		go func() {
			time.Sleep(time.Second)
			if waits.Load() != 1 {
				t.Errorf("%d calls wait", waits.Load())
			}
		}()
		if _, err := bound.Send(ctx, "change"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute || waits.Load() != 0 {
			t.Errorf("after %s the wait ends with %v; %d calls wait", time.Since(began), err, waits.Load())
		}
		for _, s := range sent {
			s.End(providers.Answered)
		}
		if s, err := bound.Send(t.Context(), "change"); err != nil {
			t.Errorf("where there is room a call waits: %v", err)
		} else {
			s.End(providers.Cancelled)
		}
	})
}

// Random endpoints change at random times: how many calls they carry out at a time, how long these
// take, how many are refused or not answered. All calls are carried out, few more than once, and the
// queue at the endpoint stays short.
func TestRandomEndpointsAreServed(t *testing.T) {
	first := *seed
	if first == 0 {
		first = rand.Uint64()
	}
	for n := range uint64(60) {
		t.Run(fmt.Sprint("seed ", first+n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { serveRandomEndpoint(t, rand.New(rand.NewPCG(first+n, 0))) })
		})
	}
}

func serveRandomEndpoint(t *testing.T, r *rand.Rand) {
	places := 1 + r.IntN(4)
	slowest := 10 * time.Second * time.Duration(places) // as long as a queue of 40 is carried out in time
	var mu sync.Mutex
	random := func(n float64) bool {
		mu.Lock()
		defer mu.Unlock()
		return r.Float64() < n
	}
	e := newEndpoint(t, places, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	worked := make(chan time.Duration, 1)
	workers := 1 + r.IntN(12)
	go func() { worked <- e.work(ctx, workers, 50) }()
	for over := false; !over; {
		mu.Lock()
		each := time.Duration(float64(slowest) * r.Float64() * r.Float64() * r.Float64() / 4)
		refused, unanswered := max(0, r.Float64()-0.7), max(0, r.Float64()-0.9)
		lasts := time.Duration(r.IntN(600)) * time.Second
		mu.Unlock()
		e.set(each, func() (refuse, lose bool) { return random(refused), random(unanswered) })
		select {
		case took := <-worked:
			over = true
			if took > patience {
				t.Errorf("it takes %s", took)
			}
		case <-time.After(lasts):
		}
	}
	time.Sleep(longest) // what was sent is carried out
	again := 0
	for _, times := range e.done {
		again += times - 1
	}
	if again*10 > len(e.done) {
		t.Errorf("of %d calls, %d are carried out again", len(e.done), again)
	}
	if e.underWay != 0 {
		t.Errorf("%d calls are under way at the end", e.underWay)
	}
	t.Logf("%d calls at %d places: %d were sent, %d not answered, %d carried out again; limits from %d to %d, %d in a queue at most",
		len(e.done), places, e.arrived, e.lost, again, e.least, e.most, e.crowd)
}

// The order of a queue is that of its load balancers also where a call ends in the middle.
func TestCallsOfAllLoadBalancersAreSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEndpoint(t, 1, time.Second)
		var all sync.WaitGroup
		all.Go(func() { e.work(t.Context(), 10, 30) })
		time.Sleep(30 * time.Second)
		var took []time.Duration
		for range 5 {
			began := time.Now()
			if err := e.call(providers.WithKey(t.Context(), "quiet"), "quiet"); err != nil {
				t.Error(err)
			}
			took = append(took, time.Since(began))
		}
		if most := slices.Max(took); most > 20*time.Second {
			t.Errorf("a call beside ten busy load balancers takes %s", took)
		}
		all.Wait()
	})
}
