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

// inquiries are the answers of the cloud about the targets of groups. Pods that wait for the same
// group share an answer.
type inquiries struct {
	mu sync.Mutex
	of map[lb.GroupKey]*inquiry
}

// An inquiry is one answer, which is used for a while.
type inquiry struct {
	mu   sync.Mutex
	at   time.Time
	said []lb.TargetHealth
	err  error
}

// ask asks the cloud about a group, or returns the last answer if that is recent.
func (i *inquiries) ask(ctx context.Context, cloud providers.Provider,
	k lb.GroupKey) ([]lb.TargetHealth, error) {
	q := i.about(k)
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Since(q.at) >= soonest {
		q.said, q.err = cloud.Targets(ctx, k.Key, k.ID)
		q.at = time.Now()
	}
	return q.said, q.err
}

// about returns the inquiry of a group. Inquiries that were not used lately are dropped.
func (i *inquiries) about(k lb.GroupKey) *inquiry {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.of[k] == nil {
		maps.DeleteFunc(i.of, func(_ lb.GroupKey, q *inquiry) bool { return q.old() })
		if i.of == nil {
			i.of = map[lb.GroupKey]*inquiry{}
		}
		i.of[k] = &inquiry{}
	}
	return i.of[k]
}

// old reports whether an answer is not used any more; never while the cloud is being asked.
func (q *inquiry) old() bool {
	if !q.mu.TryLock() {
		return false
	}
	defer q.mu.Unlock()
	return time.Since(q.at) > latest
}
