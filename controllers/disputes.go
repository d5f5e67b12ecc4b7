package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file notices that another writer undoes what this operator wrote: a cluster that was cloned with its installation,
// an operator of an older release, or a person. What was undone once is written again. What was undone twice in a row is
// left as it is for a while, and each time for longer: two operators that repair each other's writes would never end.

const (
	// undoneMost is how often in a row the same is undone before it is left.
	undoneMost = 2
	// The first wait of a dispute, and the longest one.
	disputeFirst, disputeMost = 10 * time.Minute, 10 * time.Hour
)

// disputes are what is undone by others, of load balancers and of the members of their target groups: those have keys
// with a target group.
type disputes struct {
	mu sync.Mutex
	of map[groupKey]dispute
}

// A dispute is what a look found undone.
type dispute struct {
	undone []string // the objects, by what there is to do about each
	times  int      // in a row
	until  time.Time
}

// found notes what a look finds undone of what was complete before it, and reports whether it is to be left as it is.
func (d *disputes) found(k groupKey, undone []string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.of[k]
	if len(undone) == 0 {
		delete(d.of, k)
		return false
	}
	next := dispute{undone: undone, times: 1}
	if slices.ContainsFunc(undone, func(u string) bool { return slices.Contains(was.undone, u) }) {
		next.times += was.times
	}
	if next.times >= undoneMost {
		next.until = now.Add(min(disputeFirst<<min(next.times-undoneMost, 6), disputeMost))
	}
	if d.of == nil {
		d.of = map[groupKey]dispute{}
	}
	d.of[k] = next
	return next.until.After(now)
}

// open is the first of the disputes about a load balancer that are not over; nil if there is none.
func (d *disputes) open(key lb.Key, now time.Time) *dispute {
	d.mu.Lock()
	defer d.mu.Unlock()
	var first *dispute
	for k, found := range d.of {
		if k.key == key && found.until.After(now) && (first == nil || found.until.Before(first.until)) {
			first = &found
		}
	}
	return first
}

// forget forgets a load balancer that is no more.
func (d *disputes) forget(key lb.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for k := range d.of {
		if k.key == key {
			delete(d.of, k)
		}
	}
}

// String says what is undone, and until when it is left.
func (d *dispute) String() string {
	const most = 3
	told := d.undone
	more := ""
	if len(told) > most {
		told, more = told[:most], fmt.Sprintf(" and %d more", len(told)-most)
	}
	return fmt.Sprintf("another writer has undone %d times in a row what this operator wrote (%s%s): it is left as it is until %s; "+
		"look for another cluster or operator with the same installation", d.times, strings.Join(told, ", "), more, d.until.UTC().Format(time.RFC3339))
}

// left is for how long what is undone is left as it is; zero if it is not.
func (d *disputes) left(k groupKey, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(0, d.of[k].until.Sub(now))
}

// judge compares what a look found with what was there before it, and returns what is disputed; nil if nothing is.
func (r *reconciler) judge(before *lb.Observed, o outcome) *dispute {
	key := o.snap.Key
	fresh := before != nil && before != o.seen && r.disputes.left(groupKey{key: key}, time.Now()) == 0
	// Where it was not as it should be, or something else is asked for now, nothing can be said.
	if fresh && unlessRetained(o.snap, plan.Diff(before, o.built.LoadBalancer, o.caps)).Empty() {
		r.disputes.found(groupKey{key: key}, stepsOf(o.todo), time.Now())
	}
	return r.disputes.open(key, time.Now())
}

// stepsOf are the steps of a plan, each by what it does and to what.
func stepsOf(p plan.Plan) []string {
	var out []string
	for _, s := range p.Print() {
		out = append(out, s.Op+" "+s.ID)
	}
	return out
}

// leave is for how long the members of a target group are left as they are, which others have changed: they are those
// that are present, not those that were set. What the Service asks for anew is written all the same, as under a pause.
func (r *registrar) leave(ctx context.Context, k groupKey, t tracked, present, want []lb.Target) time.Duration {
	now := time.Now()
	if t.doubted && r.disputes.left(k, now) == 0 {
		var undone []string
		if !sameTargets(t.members, present) {
			undone = []string{"the targets of " + string(k.id)}
		}
		if r.disputes.found(k, undone, now) {
			r.disputed(ctx, k.key)
		}
		r.book.note(k, func(known *tracked) { known.doubted = false }) // once
	}
	if !sameTargets(t.members, want) {
		return 0
	}
	return r.disputes.left(k, now)
}

func sameTargets(a, b []lb.Target) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(t lb.Target) bool { return !slices.Contains(b, t) })
}
