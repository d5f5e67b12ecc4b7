package providers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file carries out a plan: each step once the steps before it are done, several at a time.

// Options say how a plan is run.
type Options struct {
	Parallel int    // steps under way at the same time; less than one: four
	Done     func() // is told of each step that is done; may be nil
}

// An Outcome is what became of the steps of a plan. What is neither done, rejected nor pending
// has failed, or stood behind a step that is not done.
type Outcome struct {
	Done       int
	Rejections []Rejection // in the order of the plan
	Pending    []plan.Step // steps that the cloud is not ready for, in the order of the plan
	Unparked   []Rejection // parking rules that the cloud refused; the plan went on without them
}

// A Rejection is a step that the cloud will not take, and the routes that asked for it.
type Rejection struct {
	Step   plan.Step
	Origin []diag.Source
	Err    error
}

// Run carries out a plan and makes seen follow each step that succeeds. A step that fails keeps
// those behind it from running, and no others. The error is nil once all of the plan is done, and
// otherwise joins what went wrong with each step: a rejected or pending one too.
//
// When the context ends no further step starts; those under way are finished, for one that is left
// half way leaves nobody knowing what the cloud has.
//
// Only this goroutine writes seen. The steps under way read a copy of it, taken when the first of
// them starts after a change.
func Run(ctx context.Context, cloud Provider, seen *lb.Observed, p plan.Plan, o Options) (Outcome, error) {
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
			if view == nil {
				view = seen.Clone()
			}
			a := r.next()
			go apply(Urgently(context.WithoutCancel(ctx), r.urgent[a.index]), cloud, view, a, finished)
			underWay++
		}
		if underWay == 0 {
			return r.outcome(context.Cause(ctx))
		}
		a := <-finished
		underWay--
		if a.err == nil {
			a.step.Do(seen, a.result)
			view = nil
			if o.Done != nil {
				o.Done()
			}
		}
		r.note(a)
	}
}

// applied is a step of a plan and what came of it.
type applied struct {
	index  int
	step   plan.Step
	result plan.Result
	err    error
}

func apply(ctx context.Context, cloud Provider, view *lb.Observed, a applied, finished chan<- applied) {
	a.result, a.err = applyOne(ctx, cloud, view, a.step)
	finished <- a
}

// applyOne applies a step. A provider that panics fails the step.
func applyOne(ctx context.Context, cloud Provider, view *lb.Observed, step plan.Step) (result plan.Result, err error) {
	defer Recovered(ctx, &err)
	return cloud.Apply(ctx, view, step)
}

// A run is how far a plan has got.
type run struct {
	plan      plan.Plan
	urgent    []bool  // by step: it restricts or repairs, or has to be done before one that does
	waitsFor  []int   // by step: how many of the steps before it are not done
	followers [][]int // by step: those that wait for it
	ready     []int   // steps that may start, ascending
	done      int
	failed    []applied
	unparked  []applied
	needless  []bool // by step: it belongs to a parking rule that was refused, and does nothing
}

func newRun(p plan.Plan) *run {
	r := &run{plan: p, urgent: p.Urgent(), waitsFor: make([]int, len(p.Steps)), followers: make([][]int, len(p.Steps)), needless: make([]bool, len(p.Steps))}
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

// next takes the first step that may start, an urgent one if there is one.
func (r *run) next() applied {
	at := max(0, slices.IndexFunc(r.ready, func(i int) bool { return r.urgent[i] }))
	i := r.ready[at]
	r.ready = slices.Delete(r.ready, at, at+1)
	return applied{index: i, step: r.plan.Steps[i].Step}
}

// note records a step's end and frees the steps that waited for nothing else.
func (r *run) note(a applied) {
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

// free lets the steps start that waited for this one and for no other.
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

// outcome sums up. Cancelled is why the run was told to stop, if it was.
func (r *run) outcome(cancelled error) (Outcome, error) {
	out := Outcome{Done: r.done, Unparked: r.withoutParking()}
	var errs []error
	slices.SortFunc(r.failed, func(a, b applied) int { return a.index - b.index })
	for _, f := range r.failed {
		doing := "applying " + f.step.Op()
		if _, waits := f.step.(plan.AwaitTargets); waits {
			doing = "waiting for the targets of"
		}
		err := fmt.Errorf("%s %s: %w", doing, f.step.ID(), f.err)
		switch {
		case errors.Is(err, ErrRejected):
			out.Rejections = append(out.Rejections, Rejection{f.step, r.plan.Steps[f.index].Origin, err})
		case errors.Is(err, ErrPending):
			out.Pending = append(out.Pending, f.step)
		}
		errs = append(errs, err)
	}
	if cancelled != nil && r.done < len(r.plan.Steps) {
		errs = append(errs, fmt.Errorf("stopping after %d of %d steps: %w", r.done, len(r.plan.Steps), cancelled))
	}
	return out, errors.Join(errs...)
}
