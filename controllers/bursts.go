package controllers

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// This file gathers changes that come together. People apply and delete whole directories, one object after
// the other, and where each step is a call that is limited, many small plans cost more than one large one:
// rules are deleted one by one whose load balancer goes a moment later.

// A burst is over when nothing more has come for a while, and at the latest after this many times as long.
const longestBurst = 10

// A burstQueue holds back what is added until its burst is over. What comes back by itself does not wait.
type burstQueue[K comparable] struct {
	workQueue[K]
	pause time.Duration // without anything new, after which a burst is over

	mu     sync.Mutex
	bursts map[K]*burst
}

// A burst is under way.
type burst struct {
	ends  time.Time // at the latest
	timer *time.Timer
}

// inBursts makes such a queue.
func inBursts[K comparable](pause time.Duration) func(string, workqueue.TypedRateLimiter[K]) workQueue[K] {
	return func(name string, limiter workqueue.TypedRateLimiter[K]) workQueue[K] {
		plain := workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[K]{Name: name})
		return &burstQueue[K]{workQueue: plain, pause: pause, bursts: map[K]*burst{}}
	}
}

// Add adds a thing once its burst is over.
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
		q.workQueue.Add(k)
	}
}
