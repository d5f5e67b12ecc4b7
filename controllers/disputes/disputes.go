// Package disputes holds changes of this operator that another writer undoes: a cluster that was
// cloned with its installation, an operator of an older release, or a person. A change that is
// undone once is made again. One that is undone twice in a row is left as it is for a while, and
// each time for longer: two operators that repair each other's changes would never end.
package disputes

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/fairlead/model/lb"
)

const (
	// undoneMost is how often in a row a change is undone before it is left.
	undoneMost = 2
	// The first wait of a dispute, and the longest one.
	firstWait, longestWait = 10 * time.Minute, 10 * time.Hour
)

// Disputes are those about load balancers, which have no target group in their keys, and about the
// targets of their target groups.
type Disputes struct {
	mu sync.Mutex
	of map[lb.GroupKey]Dispute
}

// A Dispute is what an observation found undone.
type Dispute struct {
	// Until is when the change is made again.
	Until time.Time

	undone []string // the objects, by what there is to do about each
	times  int      // in a row
}

// Add adds what an observation finds undone of what was complete before it, and reports whether
// that is to be left as it is. Where nothing is undone, the dispute is over.
func (d *Disputes) Add(k lb.GroupKey, undone []string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.of[k]
	if len(undone) == 0 {
		delete(d.of, k)
		return false
	}
	next := Dispute{undone: undone, times: 1}
	if slices.ContainsFunc(undone, func(u string) bool { return slices.Contains(before.undone, u) }) {
		next.times += before.times
	}
	if next.times >= undoneMost {
		next.Until = now.Add(min(firstWait<<min(next.times-undoneMost, 6), longestWait))
	}
	if d.of == nil {
		d.of = map[lb.GroupKey]Dispute{}
	}
	d.of[k] = next
	return next.Until.After(now)
}

// First returns the dispute about a load balancer, or about the targets of one of its groups, that
// is over first; nil if there is none.
func (d *Disputes) First(key lb.Key, now time.Time) *Dispute {
	d.mu.Lock()
	defer d.mu.Unlock()
	var first *Dispute
	for k, found := range d.of {
		if k.Key == key && found.Until.After(now) && (first == nil || found.Until.Before(first.Until)) {
			first = &found
		}
	}
	return first
}

// Left returns for how long what is undone is left as it is; zero if it is made again.
func (d *Disputes) Left(k lb.GroupKey, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(0, d.of[k].Until.Sub(now))
}

// Forget forgets the disputes about a load balancer.
func (d *Disputes) Forget(key lb.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for k := range d.of {
		if k.Key == key {
			delete(d.of, k)
		}
	}
}

// String says what is undone, and until when it is left.
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
