package queue

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// This file reconciles changes that arrive together in one reconcile. People apply and delete whole
// directories, one object after the other. With a rate limit many small plans cost more than one
// large one: they delete the rules of a load balancer that is deleted a moment later.

// longestBurst is the limit of a burst, in pauses.
const longestBurst = 10

// A burstQueue delays a key until its burst is over: until no change of it has arrived for a pause.
// Retries do not wait.
type burstQueue[K comparable] struct {
	Queue[K]
	pause time.Duration // without a change, after which a burst is over

	mu     sync.Mutex
	bursts map[K]*burst
}

// A burst has the changes of one key that arrive together.
type burst struct {
	ends  time.Time // at the latest
	timer *time.Timer
}

// inBursts returns a function that makes such queues.
func inBursts[K comparable](pause time.Duration) func(string,
	workqueue.TypedRateLimiter[K]) Queue[K] {
	return func(name string, limiter workqueue.TypedRateLimiter[K]) Queue[K] {
		plain := workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
			workqueue.TypedRateLimitingQueueConfig[K]{Name: name})
		return &burstQueue[K]{Queue: plain, pause: pause, bursts: map[K]*burst{}}
	}
}

// Add adds a key once its burst is over.
func (q *burstQueue[K]) Add(k K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if b := q.bursts[k]; b != nil {
		b.timer.Reset(min(q.pause, time.Until(b.ends)))
		return
	}
	b := &burst{ends: time.Now().Add(longestBurst * q.pause)}
	b.timer = time.AfterFunc(q.pause, func() { q.end(k, b) })
	q.bursts[k] = b
}

// end ends a burst, unless it has ended: a change may have arrived while its timer fired.
func (q *burstQueue[K]) end(k K, b *burst) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.bursts[k] == b {
		delete(q.bursts, k)
		q.Queue.Add(k)
	}
}
