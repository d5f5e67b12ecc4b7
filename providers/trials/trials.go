// Package trials tests a provider with the life of two load balancers in a real cloud. It compares
// observations with the expected state, and deletes all resources again.
package trials

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/providers"
)

// Prefix begins the names of the installations of runs.
const Prefix = "prove-"

// A Cloud is a provider under trial, with an installation for this run alone.
type Cloud interface {
	providers.Provider
	// Try tests the provider's assumptions about its cloud on an existing load balancer. It deletes
	// the resources that it creates.
	Try(ctx context.Context, key lb.Key) []check.Finding
	// Sweep deletes the resources of the installation, as far as the cloud permits, and returns those
	// that it found. All are deleted once it finds none.
	Sweep(ctx context.Context) (found []string, err error)
	// Installations returns the installations of runs that still have resources.
	Installations(ctx context.Context) ([]string, error)
}

// Options limit a run.
type Options struct {
	// Adopt: the run takes a load balancer over, and gives it back, in place of the other scenarios.
	Adopt bool
	// Target is a healthy target that answers requests with 200; nil for none.
	Target *lb.Target
	// Calls limits the calls of the cloud before the cleanup, and CallsMade returns their number so
	// far.
	Calls     int
	CallsMade func() int
	// Timeout limits the time before the cleanup, and CleanupTimeout the time of the cleanup.
	Timeout, CleanupTimeout time.Duration
	// Pause is the wait before a pending step is tried again, and SweepPause the time between the two
	// sweeps that have to find nothing.
	Pause, SweepPause time.Duration
	// ReadLag is the time for which reads may not find earlier changes of tags.
	ReadLag time.Duration
	// OnProgress is called before each part of the run, with a description.
	OnProgress func(string)
}

// The causes of an early end of a run.
var (
	errCalls = errors.New("the calls that were agreed on are spent")
	errTime  = errors.New("the time that was agreed on is over")
)

// Run creates load balancers, changes them and deletes them. It also deletes them if the context
// ends, a scenario fails or the provider panics. left has the resources that could not be deleted.
func Run(ctx context.Context, cloud Cloud, o Options) (findings []check.Finding, left []string) {
	r := &run{cloud: budgeted{cloud, o}, lab: cloud, Options: o}
	work, stop := context.WithTimeoutCause(ctx, o.Timeout, errTime)
	defer stop()
	err := catchPanic(func() error { return r.runScenarios(work) })
	if err != nil {
		r.note(check.Bad("prove/cut-short", "the run", "it was cut short: "+err.Error(),
			"what was made is deleted"))
	}
	return r.findings, Clear(ctx, cloud, o)
}

// Clear deletes all resources of an installation. It continues if the context ends.
func Clear(ctx context.Context, cloud Cloud, o Options) (left []string) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), o.CleanupTimeout)
	defer stop()
	o.OnProgress("deleting what was made")
	r := &run{cloud: cloud, lab: cloud, Options: o}
	for _, key := range o.keys(cloud) {
		// A provider may wait for resources that no longer exist, because an answer was lost. It must
		// not use up the time for the sweep.
		share, enough := context.WithTimeout(ctx, o.CleanupTimeout/4)
		// the sweep deletes the rest
		_ = catchPanic(func() error {
			return r.applyUntilDone(share, lb.LoadBalancer{Key: key}, anyError)
		})
		enough()
	}
	return r.sweep(ctx)
}

// sweep deletes resources until two sweeps in a row find none. One is not enough: new resources may
// not be listed yet. If the time ends before, left has the resources of the last sweep.
func (r *run) sweep(ctx context.Context) (left []string) {
	for empty := 0; ; {
		found, err := r.sweepOnce(ctx)
		switch {
		case ctx.Err() != nil && len(left) > 0: // the last sweep found more
		case err != nil:
			empty, left = 0, slices.Concat(found, []string{"it is not known what else: " + oneLine(err)})
		case len(found) > 0:
			empty, left = 0, found
		default:
			if empty++; empty == 2 {
				return nil
			}
			left =
				[]string{"it is not known what: one look found nothing, and there was no time for another"}
		}
		wait := r.Pause
		if empty > 0 {
			wait = r.SweepPause
		}
		if pause(ctx, wait) != nil {
			return left
		}
	}
}

// sweepOnce deletes the resources that it finds, and returns them. If lists have none, it observes
// the load balancers by key.
func (r *run) sweepOnce(ctx context.Context) (found []string, err error) {
	err = catchPanic(func() (err error) {
		if found, err = r.lab.Sweep(ctx); err != nil || len(found) > 0 {
			return err
		}
		for _, key := range r.keys(r.lab) {
			there, err := r.lab.Observe(ctx, key, false)
			if err != nil {
				return err
			}
			if there.Exists || len(there.TargetGroups)+len(there.Certificates) > 0 {
				found = append(found, "what belongs to load balancer "+string(key))
			}
		}
		return nil
	})
	return found, err
}

// A run is a trial under way.
type run struct {
	Options
	cloud    providers.Provider
	lab      Cloud
	findings []check.Finding
	unparked int
}

func (r *run) note(f check.Finding) { r.findings = append(r.findings, f) }

// A tolerance reports whether to try again after an error.
type tolerance func(error) bool

// isTemporary reports whether an error ends by itself.
func isTemporary(err error) bool {
	return errors.Is(err, providers.ErrPending) || errors.Is(err, providers.ErrThrottled)
}

// anyError tolerates each error: deleting continues until the timeout.
func anyError(error) bool { return true }

// applyUntilDone applies the wanted load balancer. It plans again after errors that again
// tolerates.
func (r *run) applyUntilDone(ctx context.Context, want lb.LoadBalancer, again tolerance) error {
	for tries := 0; ; tries++ {
		seen, err := r.cloud.Observe(ctx, want.Key, false)
		if err == nil {
			p := planner.Diff(seen, want, r.cloud.Capabilities(lb.Class{}))
			if p.Empty() {
				return nil
			}
			var out providers.Outcome
			out, err = providers.Run(ctx, r.cloud, seen, p, providers.Options{})
			r.unparked += len(out.Unparked)
			if err == nil {
				return r.checkState(ctx, seen)
			}
		}
		if !again(err) || !isTemporary(err) && tries >= mostTries {
			return err
		}
		if err := pause(ctx, r.Pause*time.Duration(min(1+tries, pauseGrowth))); err != nil {
			return err
		}
	}
}

// pauseGrowth is the ratio of the longest pause to the first: each try observes the load balancer
// again.
const pauseGrowth = 5

// mostTries limits the tries after an error that may not end.
const mostTries = 20

// retryCall makes a call, and repeats it after temporary errors.
func retryCall[T any](ctx context.Context, r *run, call func() (T, error)) (T, error) {
	for {
		out, err := call()
		if !isTemporary(err) {
			return out, err
		}
		if err := pause(ctx, r.Pause); err != nil {
			return out, err
		}
	}
}

func (r *run) observe(ctx context.Context, key lb.Key) (*lb.Observed, error) {
	return retryCall(ctx, r, func() (*lb.Observed, error) { return r.cloud.Observe(ctx, key, false) })
}

// pause waits, unless the context ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// catchPanic turns a panic into an error.
func catchPanic(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the provider panicked: %v", v)
		}
	}()
	return do()
}

// budgeted is a provider that refuses calls after the limit, and turns panics into errors: its
// steps run in goroutines, where no other code catches panics.
type budgeted struct {
	Cloud
	o Options
}

func (g budgeted) spent() error {
	if g.o.CallsMade() >= g.o.Calls {
		return errCalls
	}
	return nil
}

func (g budgeted) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	if err := g.spent(); err != nil {
		return nil, err
	}
	return g.Cloud.Observe(ctx, key, deep)
}

func (g budgeted) Apply(ctx context.Context, seen *lb.Observed,
	step plan.Step) (out plan.Result, err error) {
	if err := g.spent(); err != nil {
		return plan.Result{}, err
	}
	err = catchPanic(func() (err error) {
		out, err = g.Cloud.Apply(ctx, seen, step)
		return err
	})
	return out, err
}

// oneLine returns an error in one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
