package providers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file applies a plan: each step after the steps that it depends on, several at a time.

// Options configure Run.
type Options struct {
	Parallel int             // steps under way at the same time; less than one: four
	Done     func(plan.Step) // called after each step that is done; may be nil
}

// An Outcome is the result of a plan. Steps that are neither done nor failed depend on a step that is
// not done, or were not begun.
type Outcome struct {
	Done       int
	Rejections []Rejection // in the order of the plan
	Pending    []plan.Step // steps that the cloud is not ready for, in the order of the plan
	Failed     []Rejection // all steps that failed, rejected and pending ones included
	Unparked   []Rejection // parking rules that the cloud refused; the plan went on without them
	// HalfDone is set if the cloud may have a part of a step that failed: the observation is not
	// valid any more.
	HalfDone bool
}

// A Rejection is a step that the cloud rejects, or that fails otherwise, and the routes that asked
// for it.
type Rejection struct {
	Step   plan.Step
	Origin []diag.Source
	Err    error
}

// Run applies a plan, and updates seen with each step that succeeds. After a step that fails, the
// steps that depend on it are not applied; others are. The error is nil if the whole plan is done.
// Otherwise it joins the errors of all steps, rejected and pending ones included; steps that failed
// for the same cause have one error.
//
// When the context ends, no further step starts, and no call waits for its turn any longer. Calls
// under way are finished: after a call that is cut off, the state of the cloud is unknown.
//
// Only this goroutine writes seen. Steps under way share a copy, which has at least the results of
// the steps that they depend on. A new copy is made when a step starts that depends on a step whose
// result is not in the copy. Steps that do not depend on each other may run at the same time.
func Run(
	ctx context.Context, cloud Provider, seen *lb.Observed, p plan.Plan, o Options,
) (Outcome, error) {
	r := newRun(p)
	limit := o.Parallel
	if limit < 1 {
		limit = 4
	}
	finished := make(chan applied)
	underWay := 0
	var view *lb.Observed
	for {
		for underWay < limit && len(r.ready) > 0 && ctx.Err() == nil {
			a := r.next()
			if view == nil || r.isBehind(a.index) {
				view, r.inView = seen.Clone(), len(r.order)
			}
			step := withSent(withPlan(context.WithoutCancel(ctx), ctx), a.sent)
			go apply(WithUrgency(step, r.urgent[a.index]), cloud, view, a, finished)
			underWay++
		}
		if underWay == 0 {
			return r.outcome(context.Cause(ctx))
		}
		a := <-finished
		underWay--
		if a.err == nil {
			a.step.Do(seen, a.result)
			r.order[a.index] = len(r.order) + 1
			if o.Done != nil {
				o.Done(a.step)
			}
		}
		r.record(a)
	}
}

// applied is a step with its result.
type applied struct {
	index  int
	step   plan.Step
	sent   *atomic.Bool // a call of it was sent
	result plan.Result
	err    error
}

// isHalfDone reports whether the cloud may have a part of a step that failed.
func (a applied) isHalfDone() bool {
	return !errors.Is(a.err, ErrPending) && (a.sent.Load() || !errors.Is(a.err, errUnsent))
}

func apply(
	ctx context.Context, cloud Provider, view *lb.Observed, a applied, finished chan<- applied,
) {
	a.result, a.err = applyOne(ctx, cloud, view, a.step)
	finished <- a
}

// applyOne applies a step. If the provider panics, the step fails.
func applyOne(
	ctx context.Context, cloud Provider, view *lb.Observed, step plan.Step,
) (result plan.Result, err error) {
	defer RecoverPanic(ctx, &err)
	return cloud.Apply(ctx, view, step)
}

// A run is the progress of a plan.
type run struct {
	plan      plan.Plan
	urgent    []bool  // by step: it restricts or repairs the routing, or such a step depends on it
	waitsFor  []int   // by step: the number of open steps that it depends on
	followers [][]int // by step: the steps that wait for it
	ready     []int   // steps that may start, ascending
	done      int
	failed    []applied
	unparked  []applied
	needless  []bool      // by step: it belongs to a refused parking rule, and is skipped
	order     map[int]int // by step that is done: its number in the order of completion
	inView    int         // the number of these in the copy that steps read
}

func newRun(p plan.Plan) *run {
	r := &run{plan: p, urgent: p.Urgent(), waitsFor: make([]int, len(p.Steps)),
		followers: make([][]int, len(p.Steps)), needless: make([]bool, len(p.Steps)),
		order: map[int]int{}}
	for i, s := range p.Steps {
		r.waitsFor[i] = len(s.After)
		for _, before := range s.After {
			r.followers[before] = append(r.followers[before], i)
		}
		if len(s.After) == 0 {
			r.ready = append(r.ready, i)
		}
	}
	return r
}

// isBehind reports whether the copy lacks a step before this one.
func (r *run) isBehind(step int) bool {
	return slices.ContainsFunc(r.plan.Steps[step].After, func(before int) bool {
		return r.order[before] > r.inView
	})
}

// next removes the first step that may start, an urgent one if there is one.
func (r *run) next() applied {
	at := max(0, slices.IndexFunc(r.ready, func(i int) bool { return r.urgent[i] }))
	i := r.ready[at]
	r.ready = slices.Delete(r.ready, at, at+1)
	return applied{index: i, step: r.plan.Steps[i].Step, sent: &atomic.Bool{}}
}

// record records the end of a step, and frees the steps that waited only for it.
func (r *run) record(a applied) {
	switch {
	case a.err != nil && refusedParking(a):
		r.unpark(a)
	case a.err != nil:
		r.failed = append(r.failed, a)
		return
	default:
		r.done++
	}
	r.free(a.index)
}

// free frees the steps that waited only for this one.
func (r *run) free(index int) {
	for _, next := range r.followers[index] {
		if r.waitsFor[next]--; r.waitsFor[next] > 0 {
			continue
		}
		if r.needless[next] {
			r.free(next)
			continue
		}
		at, _ := slices.BinarySearch(r.ready, next)
		r.ready = slices.Insert(r.ready, at, next)
	}
}

// concerned reports whether an error is about one step: the cloud refuses it, or is not ready for
// it.
func concerned(err error) bool {
	return errors.Is(err, ErrRejected) || errors.Is(err, ErrPending)
}

// alike returns the number of failed steps by the text of their error, without errors that are
// about one step.
func (r *run) alike() map[string]int {
	out := map[string]int{}
	for _, f := range r.failed {
		if !concerned(f.err) {
			out[f.err.Error()]++
		}
	}
	return out
}

// failure returns the error of a step that failed, and names as many more that failed alike.
func (a applied) failure(more int) error {
	doing, also := "applying "+a.step.Op(), ""
	if _, waits := a.step.(plan.AwaitTargets); waits {
		doing = "waiting for the targets of"
	}
	if more > 0 {
		also = fmt.Sprintf(", and %d more steps", more)
	}
	return fmt.Errorf("%s %s%s: %w", doing, a.step.ID(), also, a.err)
}

// outcome returns the result. cancelled is the cause of the end of the context, or nil.
func (r *run) outcome(cancelled error) (Outcome, error) {
	out := Outcome{Done: r.done, Unparked: r.withoutParking()}
	var errs []error
	slices.SortFunc(r.failed, func(a, b applied) int { return a.index - b.index })
	alike := r.alike()
	for _, f := range r.failed {
		failure := Rejection{f.step, r.plan.Steps[f.index].Origin, f.failure(0)}
		out.Failed = append(out.Failed, failure)
		out.HalfDone = out.HalfDone || f.isHalfDone()
		switch {
		case errors.Is(f.err, ErrRejected):
			out.Rejections = append(out.Rejections, failure)
		case errors.Is(f.err, ErrPending):
			out.Pending = append(out.Pending, f.step)
		}
		switch more := alike[f.err.Error()] - 1; {
		case concerned(f.err):
			errs = append(errs, failure.Err)
		case more >= 0:
			errs = append(errs, f.failure(more))
			alike[f.err.Error()] = 0 // the others are reported
		}
	}
	if cancelled != nil && r.done < len(r.plan.Steps) {
		errs = append(errs,
			fmt.Errorf("stopping after %d of %d steps: %w", r.done, len(r.plan.Steps), cancelled))
	}
	return out, errors.Join(errs...)
}
