package readiness

import (
	"context"
	"maps"
	"sync"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file keeps the answers of the cloud about the health of targets for a while.

// inquiries holds the answers of the cloud about the targets of groups. Pods that wait for the same
// group share an answer.
type inquiries struct {
	mu      sync.Mutex
	byGroup map[lb.GroupKey]*inquiry
}

// An inquiry has one answer, which is used for a while.
type inquiry struct {
	mu   sync.Mutex
	at   time.Time
	said []lb.TargetHealth
	err  error
}

// answer asks the cloud about a group, or returns the last answer if it is recent.
func (i *inquiries) answer(ctx context.Context, cloud providers.Provider,
	k lb.GroupKey) ([]lb.TargetHealth, error) {
	q := i.inquiryOf(k)
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Since(q.at) >= minRecheck {
		q.said, q.err = cloud.Targets(ctx, k.Key, k.ID)
		q.at = time.Now()
	}
	return q.said, q.err
}

// inquiryOf returns the inquiry of a group. Inquiries that were not used lately are dropped.
func (i *inquiries) inquiryOf(k lb.GroupKey) *inquiry {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.byGroup[k] == nil {
		maps.DeleteFunc(i.byGroup, func(_ lb.GroupKey, q *inquiry) bool { return q.isOld() })
		if i.byGroup == nil {
			i.byGroup = map[lb.GroupKey]*inquiry{}
		}
		i.byGroup[k] = &inquiry{}
	}
	return i.byGroup[k]
}

// isOld reports whether an answer is not used any more; never while the cloud is being asked.
func (q *inquiry) isOld() bool {
	if !q.mu.TryLock() {
		return false
	}
	defer q.mu.Unlock()
	return time.Since(q.at) > maxRecheck
}
