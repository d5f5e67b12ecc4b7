package queue

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// This file reconciles changes that come together at once. People apply and delete whole
// directories, one object after the other, and where each step is a call that is limited, many
// small plans cost more than one large one: rules are deleted one by one whose load balancer goes a
// moment later.

// longestBurst is after how many times the pause a burst is over at the latest.
const longestBurst = 10

// A burstQueue holds a key back until its burst is over: until no change of it has come for a
// pause. Retries do not wait.
type burstQueue[K comparable] struct {
	Queue[K]
	pause time.Duration // without anything new, after which a burst is over

	mu     sync.Mutex
	bursts map[K]*burst
}

// A burst is the changes of one key that come together.
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

// end ends a burst, unless it has ended: one more may have come while its timer went off.
func (q *burstQueue[K]) end(k K, b *burst) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.bursts[k] == b {
		delete(q.bursts, k)
		q.Queue.Add(k)
	}
}
