package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file notices that another writer undoes what this operator wrote: a cluster that was cloned
// with its installation, an operator of an older release, or a person. What was undone once is
// written again. What was undone twice in a row is left as it is for a while, and each time for
// longer: two operators that repair each other's writes would never end.

const (
	// undoneMost is how often in a row the same is undone before it is left.
	undoneMost = 2
	// The first wait of a dispute, and the longest one.
	disputeFirst, disputeMost = 10 * time.Minute, 10 * time.Hour
)

// disputes are what is undone by others, of load balancers and of the members of their target
// groups: those have keys with a target group.
type disputes struct {
	mu sync.Mutex
	of map[lb.GroupKey]dispute
	// writes is when each step of a load balancer was carried out first, of those that a look may not
	// find yet. A step that is carried out once more since a look did not find it keeps its time.
	writes map[lb.Key]map[string]time.Time
}

// A dispute is what a look found undone.
type dispute struct {
	undone []string // the objects, by what there is to do about each
	times  int      // in a row
	until  time.Time
}

// found notes what a look finds undone of what was complete before it, and reports whether it is to
// be left as it is.
func (d *disputes) found(k lb.GroupKey, undone []string, now time.Time) bool {
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
		d.of = map[lb.GroupKey]dispute{}
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
		if k.Key == key && found.until.After(now) && (first == nil || found.until.Before(first.until)) {
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
		if k.Key == key {
			delete(d.of, k)
		}
	}
	delete(d.writes, key)
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
func (d *disputes) left(k lb.GroupKey, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(0, d.of[k].until.Sub(now))
}

// undoneSince returns the steps of a plan that what was there before a look did not need: another
// writer has undone them, or the look does not find yet what was written. There are none where
// nothing was looked at.
func undoneSince(before *lb.Observed, o outcome) []string {
	if before == nil || before == o.seen || o.todo.Empty() {
		return nil
	}
	needed := stepsOf(unlessRetained(o.snap, plan.Diff(before, o.built.LoadBalancer, o.caps)))
	return slices.DeleteFunc(stepsOf(o.todo), func(s string) bool { return slices.Contains(needed, s) })
}

// judgeDispute returns what is disputed about a load balancer, of which a look has found some steps
// undone; nil if nothing is. A look counts that could be compared with one before it.
func (r *reconciler) judgeDispute(compared bool, key lb.Key, undone []string) *dispute {
	now := time.Now()
	if compared && r.disputes.left(lb.GroupKey{Key: key}, now) == 0 {
		certain := r.disputes.written(key, undone, now)
		if len(certain) > 0 || len(undone) == 0 {
			r.disputes.found(lb.GroupKey{Key: key}, certain, now)
		}
	}
	return r.disputes.open(key, now)
}

// wrote notes the steps that were carried out, some of them once more.
func (d *disputes) wrote(key lb.Key, steps, again []string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.writes == nil {
		d.writes = map[lb.Key]map[string]time.Time{}
	}
	if d.writes[key] == nil {
		d.writes[key] = map[string]time.Time{}
	}
	for _, s := range steps {
		if _, known := d.writes[key][s]; !known || !slices.Contains(again, s) {
			d.writes[key][s] = now
		}
	}
}

// written returns those of some steps that a look would find if they were not undone, and forgets
// the writes that were found.
func (d *disputes) written(key lb.Key, undone []string, now time.Time) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	late := func(s string) bool { return now.Sub(d.writes[key][s]) < lagged }
	certain := slices.DeleteFunc(slices.Clone(undone), late)
	maps.DeleteFunc(d.writes[key], func(s string, _ time.Time) bool { return !late(s) && !slices.Contains(undone, s) })
	if len(d.writes[key]) == 0 {
		delete(d.writes, key)
	}
	return certain
}

// stepsOf are the steps of a plan, each by what it does and to what.
func stepsOf(p plan.Plan) []string {
	var out []string
	for _, s := range p.Print() {
		out = append(out, s.Op+" "+s.ID)
	}
	return out
}

// leave is for how long the members of a target group are left as they are, which others have
// changed: they are those that are present, not those that were set. What the Service asks for anew
// is written all the same, as under a pause.
func (r *registrar) leave(ctx context.Context, k lb.GroupKey, t tracked, present, want []lb.Target) time.Duration {
	now := time.Now()
	if t.doubted && r.disputes.left(k, now) == 0 {
		var undone []string
		if !sameTargets(t.members, present) {
			undone = []string{"the targets of " + string(k.ID)}
		}
		if r.disputes.found(k, undone, now) {
			r.disputed(ctx, k.Key)
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
