package queue

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/fairlead/model/lb"
)

const (
	// mostUndone is how often in a row a change is undone before the operator waits.
	mostUndone = 2
	// The first wait of a dispute, and the longest one.
	firstWait, longestWait = 10 * time.Minute, 10 * time.Hour
)

// Disputes holds disputes by target group. A dispute about a load balancer has a key without a group.
type Disputes struct {
	mu    sync.Mutex
	byKey map[lb.GroupKey]Dispute
}

// A Dispute has the changes that an observation found undone.
type Dispute struct {
	// Until is when the change is made again.
	Until time.Time

	// OfTargets: it is about the targets of one group, so no plan waits for it.
	OfTargets bool

	undone []string // the objects, with the step for each
	times  int      // in a row
}

// Add adds the changes that an observation found undone, and reports whether the operator has to
// wait before it repeats them. An empty list ends the dispute.
func (d *Disputes) Add(k lb.GroupKey, undone []string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.byKey[k]
	if len(undone) == 0 {
		delete(d.byKey, k)
		return false
	}
	next := Dispute{undone: undone, times: 1}
	if slices.ContainsFunc(undone, func(u string) bool { return slices.Contains(before.undone, u) }) {
		next.times += before.times
	}
	if next.times >= mostUndone {
		next.Until = now.Add(min(firstWait<<min(next.times-mostUndone, 6), longestWait))
	}
	if d.byKey == nil {
		d.byKey = map[lb.GroupKey]Dispute{}
	}
	d.byKey[k] = next
	return next.Until.After(now)
}

// FirstToEnd returns the dispute about a load balancer; if there is none, that about the targets of
// one of its groups that ends first; nil if there is none either.
func (d *Disputes) FirstToEnd(key lb.Key, now time.Time) *Dispute {
	d.mu.Lock()
	defer d.mu.Unlock()
	var first *Dispute
	for k, found := range d.byKey {
		found.OfTargets = k.ID != ""
		switch {
		case k.Key != key || !found.Until.After(now):
		case !found.OfTargets:
			return &found
		case first == nil || found.Until.Before(first.Until):
			first = &found
		}
	}
	return first
}

// TimeLeft returns how long the operator waits before it repeats the undone changes; zero for now.
func (d *Disputes) TimeLeft(k lb.GroupKey, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(0, d.byKey[k].Until.Sub(now))
}

// Forget forgets the disputes about a load balancer.
func (d *Disputes) Forget(key lb.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for k := range d.byKey {
		if k.Key == key {
			delete(d.byKey, k)
		}
	}
}

// String describes the undone changes, and the time of the next try.
func (d *Dispute) String() string {
	const most = 3
	named, more := d.undone, ""
	if len(named) > most {
		named, more = named[:most], fmt.Sprintf(" and %d more", len(named)-most)
	}
	return fmt.Sprintf("another writer has undone %d times in a row what this operator wrote (%s%s): "+
		"it is left as it is until %s; look for another cluster or operator with the same installation",
		d.times, strings.Join(named, ", "), more, d.Until.UTC().Format(time.RFC3339))
}
