// Package prove runs a provider through the life of two load balancers in a real cloud, compares
// what it finds there with what the provider keeps, and deletes all of it again.
package prove

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

// Prefix is the beginning of the names of such installations.
const Prefix = "prove-"

// A Cloud is a provider under proof, of an installation that is this run's alone.
type Cloud interface {
	providers.Provider
	// Try tries what the provider believes about its cloud on a load balancer that stands. What it
	// makes for that it deletes.
	Try(ctx context.Context, key lb.Key) []check.Finding
	// Sweep deletes what has the mark of the installation, as far as the cloud lets it, and returns
	// what it found: all is gone where it finds nothing.
	Sweep(ctx context.Context) (found []string, err error)
	// Proofs are the installations of runs of which something is there.
	Proofs(ctx context.Context) ([]string, error)
}

// Options say how far a run goes.
type Options struct {
	// Target is an address that answers requests with 200, and is healthy; nil for none.
	Target *lb.Target
	// Calls is how many calls of the cloud may be made before what was made is deleted, and Spent how
	// many were.
	Calls     int
	CallsMade func() int
	// Timeout is how long that may take, and Clearing how long deleting may take after it.
	Timeout, CleanupTimeout time.Duration
	// Pause is how long to wait where the cloud is not ready, and Apart how long between the two looks
	// that have to find nothing before all is said to be deleted.
	Pause, SweepPause time.Duration
	// OnProgress is told what is being done.
	OnProgress func(string)
}

// The ends of a run that is cut short.
var (
	errCalls = errors.New("the calls that were agreed on are spent")
	errTime  = errors.New("the time that was agreed on is over")
)

// Run makes load balancers, changes them and deletes them. It deletes them, too, when the context
// ends, when a scenario fails and when the provider panics. Left is what could not be deleted.
func Run(ctx context.Context, cloud Cloud, o Options) (findings []check.Finding, left []string) {
	r := &run{cloud: guarded{cloud, o}, lab: cloud, Options: o}
	work, stop := context.WithTimeoutCause(ctx, o.Timeout, errTime)
	defer stop()
	err := safely(func() error { return r.scenarios(work) })
	if err != nil {
		r.note(check.Bad("prove/cut-short", "the run", "it was cut short: "+err.Error(),
			"what was made is deleted"))
	}
	return r.findings, Clear(ctx, cloud, o)
}

// Clear deletes all that an installation has. It goes on when the context ends.
func Clear(ctx context.Context, cloud Cloud, o Options) (left []string) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), o.CleanupTimeout)
	defer stop()
	o.OnProgress("deleting what was made")
	r := &run{cloud: cloud, lab: cloud, Options: o}
	for _, key := range []lb.Key{second, first} {
		// A provider that waits for what nothing has any more, because an answer was lost, may not take
		// the time that sweeping up needs.
		share, enough := context.WithTimeout(ctx, o.CleanupTimeout/4)
		// what it leaves is swept up
		_ = safely(func() error { return r.until(share, lb.LoadBalancer{Key: key}, everything) })
		enough()
	}
	return r.sweep(ctx)
}

// sweep deletes what is found until two looks in a row find nothing. One is not enough: what was
// made a moment ago may not be listed yet. Where time ends before, left is what the last look
// found.
func (r *run) sweep(ctx context.Context) (left []string) {
	for empty := 0; ; {
		found, err := r.look(ctx)
		switch {
		case ctx.Err() != nil && len(left) > 0: // the look before says more
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

// look deletes what is found, and returns it. Where lists have nothing, the load balancers are
// asked for by name.
func (r *run) look(ctx context.Context) (found []string, err error) {
	err = safely(func() (err error) {
		if found, err = r.lab.Sweep(ctx); err != nil || len(found) > 0 {
			return err
		}
		for _, key := range []lb.Key{second, first} {
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

// A run is a proof under way.
type run struct {
	Options
	cloud    providers.Provider
	lab      Cloud
	findings []check.Finding
	unparked int
}

func (r *run) note(f check.Finding) { r.findings = append(r.findings, f) }

// A tolerance says which errors are tried again.
type tolerance func(error) bool

// passing are errors that end by themselves.
func passing(err error) bool {
	return errors.Is(err, providers.ErrPending) || errors.Is(err, providers.ErrThrottled)
}

// everything is tried again: deleting goes on for as long as there is time.
func everything(error) bool { return true }

// until makes a load balancer what is wanted, planning again where the cloud is not ready.
func (r *run) until(ctx context.Context, want lb.LoadBalancer, again tolerance) error {
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
				return r.kept(ctx, seen)
			}
		}
		if !again(err) || !passing(err) && tries >= mostTries {
			return err
		}
		if err := pause(ctx, r.Pause*time.Duration(min(1+tries, slower))); err != nil {
			return err
		}
	}
}

// slower is how much longer the last pauses are than the first: each try looks at the load balancer
// anew.
const slower = 5

// mostTries is how often an error is tried again that need not end.
const mostTries = 20

// once makes a call once the cloud is ready for it.
func once[T any](ctx context.Context, r *run, call func() (T, error)) (T, error) {
	for {
		out, err := call()
		if !passing(err) {
			return out, err
		}
		if err := pause(ctx, r.Pause); err != nil {
			return out, err
		}
	}
}

func (r *run) observe(ctx context.Context, key lb.Key) (*lb.Observed, error) {
	return once(ctx, r, func() (*lb.Observed, error) { return r.cloud.Observe(ctx, key, false) })
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

// safely turns a panic into an error.
func safely(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the provider panicked: %v", v)
		}
	}()
	return do()
}

// guarded is a provider that does nothing more once the calls are spent, and whose panics are
// errors: its steps run in goroutines, where no one else catches them.
type guarded struct {
	Cloud
	o Options
}

func (g guarded) spent() error {
	if g.o.CallsMade() >= g.o.Calls {
		return errCalls
	}
	return nil
}

func (g guarded) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	if err := g.spent(); err != nil {
		return nil, err
	}
	return g.Cloud.Observe(ctx, key, deep)
}

func (g guarded) Apply(ctx context.Context, seen *lb.Observed,
	step plan.Step) (out plan.Result, err error) {
	if err := g.spent(); err != nil {
		return plan.Result{}, err
	}
	err = safely(func() (err error) {
		out, err = g.Cloud.Apply(ctx, seen, step)
		return err
	})
	return out, err
}

// oneLine is an error in one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
