package providers

import (
	"context"
	"slices"
	"sync"
	"time"

	"fairlead.dev/fairlead/model/lb"
)

// This file bounds the calls of an endpoint that are under way, and adapts the bound. Calls beyond
// it wait in the operator, where urgent ones go first. In the queue of a slow endpoint they would
// not be answered in time, and be sent again behind themselves.
//
// The bound follows the congestion control of TCP (https://www.rfc-editor.org/rfc/rfc5681), as
// limiters at Netflix do (https://netflixtechblog.medium.com/performance-under-load-3e6fa9a60581).
// It grows by one with each answer until the first one that is slow, and after that by one for as
// many answers as it permits calls. It is halved, once in a round of calls, when an answer is slow,
// refuses the call because of load, or does not come.
//
// If no call is answered for a while, one more than the bound is sent, of a load balancer that has
// none under way: calls that hang do not delay those that would be answered.

const (
	firstInFlight = 4   // calls at an endpoint that is not known yet
	mostInFlight  = 100 // calls at any endpoint
	// An answer is slow that takes a third of the time in which it has to come, and twice as long as
	// the quickest one of its operation: an endpoint that takes long for each call, however few there
	// are, is not overloaded. The other two thirds are for the calls that are sent before the first
	// slow answer comes. An answer that takes half of the longest time is slow in any case.
	slowShare, slowTimes, lateShare = 3, 2, 2
	// leastPace is the time, in those of slow answers, in which one call is sent at least. It is a
	// minute by default.
	leastPace = 12
)

// An Answer is how a call ended.
type Answer int

// The ways in which calls end.
const (
	Answered  Answer = iota
	Refused          // because of load: too many calls, or the endpoint is not available
	Lost             // no answer came; the call may still be carried out
	Cancelled        // by the operator; it says nothing about the endpoint
)

// InFlight bounds the calls of one endpoint that are under way.
type InFlight struct {
	slow    time.Duration // an answer that takes less is not slow
	longest time.Duration // after which a call is lost
	tell    func(underWay, limit int)

	mu       sync.Mutex
	limit    float64
	steady   float64 // the limit from which it grows slowly
	cuts     int     // how often the limit was lowered
	sent     []*Sent // those that count, in the order in which they were sent
	answered time.Time
	quickest map[string]*quickest // by operation
	queue    queue[*Sent]

	// calls beyond the limit
	extra  time.Time     // when the last one was sent
	pause  time.Duration // until the next one
	waking *time.Timer   // sends it; nil if no call waits
}

// A Sent is a call that has begun and not ended. It may still wait for its turn.
type Sent struct {
	to        *InFlight
	key       lb.Key
	operation string
	turn      chan struct{} // closed when it may be sent
	at        time.Time     // when it was sent
	cuts      int           // of the endpoint at that time
	full      bool          // it used the limit by half and more
	lost      bool
}

// NewInFlight returns the bound of an endpoint whose answers have to come within a time, and whose
// calls are lost after the longest time. Tell is called with the number of calls and the limit when
// they change; it may be nil.
func NewInFlight(within, longest time.Duration, tell func(underWay, limit int)) *InFlight {
	if tell == nil {
		tell = func(int, int) {}
	}
	slow := within / slowShare
	return &InFlight{slow: slow, longest: longest, tell: tell, limit: firstInFlight,
		steady: mostInFlight, quickest: map[string]*quickest{}, pause: slow}
}

// Send waits until a call of an operation may be sent, or its context ends.
func (f *InFlight) Send(ctx context.Context, operation string) (*Sent, error) {
	asker := AskerOf(ctx)
	s := &Sent{to: f, key: asker.Key, operation: operation, turn: make(chan struct{})}
	f.mu.Lock()
	f.queue.push(asker.Key, asker.Urgent, s)
	f.give()
	f.mu.Unlock()
	err := await(ctx, s.turn, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.queue.remove(s)
	})
	if err != nil {
		return nil, err
	}
	noteSent(ctx)
	return s, nil
}

// give sends the calls for which there is room. If others wait, it sends one beyond the limit, if
// it is time, and sets the timer for the next one. The caller holds the lock.
func (f *InFlight) give() {
	if f.waking != nil {
		f.waking.Stop()
		f.waking = nil
	}
	for !f.queue.empty() && len(f.sent) < int(f.limit) {
		f.send(f.queue.pop())
	}
	if !f.queue.empty() && f.untilExtra() <= 0 {
		f.extra, f.pause = time.Now(), min(2*f.pause, leastPace*f.slow)
		f.send(f.queue.popOther(f.served()))
	}
	if !f.queue.empty() { // those that wait may be the only ones to come
		f.waking = time.AfterFunc(f.untilExtra(), f.wake)
	}
	underWay := 0
	for _, s := range f.sent {
		if !s.lost {
			underWay++
		}
	}
	f.tell(underWay, int(f.limit))
}

func (f *InFlight) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.give()
}

// send sends a call. The caller holds the lock.
func (f *InFlight) send(s *Sent) {
	f.sent = append(f.sent, s)
	s.at, s.cuts, s.full = time.Now(), f.cuts, 2*len(f.sent) >= int(f.limit)
	close(s.turn)
}

// served returns the load balancers that have calls under way.
func (f *InFlight) served() map[lb.Key]bool {
	out := map[lb.Key]bool{}
	for _, s := range f.sent {
		out[s.key] = true
	}
	return out
}

// untilExtra returns how long it is until a call is sent beyond the limit: calls are under way, and
// none was answered for longer than the endpoint takes. The pauses between such calls grow until an
// answer is not slow.
func (f *InFlight) untilExtra() time.Duration {
	silent := f.sent[0].at
	if silent.Before(f.answered) {
		silent = f.answered
	}
	wait := f.slow
	for _, q := range f.quickest {
		wait = max(wait, min(slowTimes*q.time(), leastPace*f.slow))
	}
	return max(time.Until(silent.Add(wait)), time.Until(f.extra.Add(f.pause)))
}

// End ends a call, and adapts the limit to its answer. A lost call counts until a later one is
// answered: the endpoint may still have it.
func (s *Sent) End(how Answer) {
	f := s.to
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	took := now.Sub(s.at)
	f.adapt(s, how, took)
	if s.lost = how == Lost && took >= f.slow; !s.lost {
		f.forget(func(other *Sent) bool { return other == s })
	}
	if how == Answered || how == Refused {
		f.answered = now
		// Calls that were sent long before do not wait in a queue in front of this one.
		f.forget(func(other *Sent) bool { return s.at.Sub(other.at) >= f.slow })
	}
	f.give()
}

// forget removes calls from those that count. The caller holds the lock.
func (f *InFlight) forget(which func(*Sent) bool) { f.sent = slices.DeleteFunc(f.sent, which) }

// adapt changes the limit. The caller holds the lock.
func (f *InFlight) adapt(s *Sent, how Answer, took time.Duration) {
	quick := how == Answered && !f.isSlow(s.operation, took)
	if quick {
		f.pause = f.slow
	}
	switch {
	case how == Cancelled, quick && !s.full, !quick && s.cuts < f.cuts:
	case !quick:
		f.cuts++
		f.limit = max(1, f.limit/2)
		f.steady = f.limit
	case f.limit < f.steady:
		f.limit = min(f.limit+1, mostInFlight)
	default:
		f.limit = min(f.limit+1/f.limit, mostInFlight)
	}
}

// isSlow reports whether an answer is slow, and records its time. The caller holds the lock.
func (f *InFlight) isSlow(operation string, took time.Duration) bool {
	q := f.quickest[operation]
	if q == nil {
		q = &quickest{}
		f.quickest[operation] = q
	}
	q.add(took, leastPace*f.slow)
	return took >= min(max(f.slow, slowTimes*q.time()), f.longest/lateShare)
}

// quickest is the shortest time in which an operation was answered of late: in the present period,
// or in the one before.
type quickest struct {
	began        time.Time // the present period
	before, here time.Duration
	known        bool // there is one before
}

func (q *quickest) add(took, period time.Duration) {
	switch now := time.Now(); {
	case now.Sub(q.began) >= period:
		q.before, q.known = q.here, !q.began.IsZero()
		q.began, q.here = now, took
	case took < q.here:
		q.here = took
	}
}

func (q *quickest) time() time.Duration {
	if q.known {
		return min(q.before, q.here)
	}
	return q.here
}
