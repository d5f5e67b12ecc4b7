package controllers

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/fairlead/providers"
)

// This file decides when to come back.

const (
	// An unknown error is tried again with backoff. Whatever was down for minutes, an API server or a
	// cloud, is up again without waiting for as long once more.
	firstRetry = 50 * time.Millisecond
	lastRetry  = time.Minute

	afterConflict = 100 * time.Millisecond // the cache will have caught up
	afterPending  = time.Second
	afterDisputed = 10 * time.Second // another writer has changed it again
	afterDenied   = time.Minute      // somebody has to fix credentials, and then should not wait long
	afterCrowded  = time.Minute      // targets may have left
	afterRejected = 10 * time.Minute // a limit may have been raised
)

// A patient reconciler comes back when it is worth it, and logs what it could not do, once.
type patient[K comparable] struct {
	reconcile.TypedReconciler[K]
	failures failures[K]
	pending  pending[K]
}

func (p *patient[K]) Reconcile(ctx context.Context, key K) (reconcile.Result, error) {
	result, err := p.TypedReconciler.Reconcile(ctx, key)
	due := result.RequeueAfter
	l := log.FromContext(ctx)
	if err == nil {
		if p.failures.over(key) {
			l.Info("what could not be done is done")
		}
		result.RequeueAfter = p.pending.wait(key, result.RequeueAfter)
		return result, nil
	}
	result, retried := comeBack(err)
	if retried == nil {
		result.RequeueAfter = sooner(result.RequeueAfter, due)
	}
	again := result.RequeueAfter.String()
	if retried != nil {
		again = "soon, and then ever less often, until it is every " + lastRetry.String()
	}
	early := retried == nil && result.RequeueAfter <= afterPending
	result.RequeueAfter = p.pending.wait(key, result.RequeueAfter)
	if !early && p.failures.news(key, err) {
		l.Error(err, "not all could be done", "again", again)
	} else {
		l.V(1).Info("not all could be done yet", "why", err.Error(), "again", again)
	}
	return result, retried
}

// Pending is how often in a row it was too early for what is worked on, or a cache lagged.
type pending[K comparable] struct {
	mu    sync.Mutex
	times map[K]int
}

// The first few waits for a cloud are short, for many clouds need a moment only. The longest is for what takes minutes.
const (
	shortPendings  = 3
	longestPending = 10 * time.Second
)

// wait is how long to wait after so long was asked for: a wait for the cloud, or for a cache to catch up, grows; any other one
// ends the row. A cache whose watch has broken lags for half a minute and more. Waits that
// are longer than the first ones differ by up to a fifth, so that those of many load balancers do not end at once.
func (p *pending[K]) wait(key K, asked time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if asked != afterPending && asked != afterConflict {
		delete(p.times, key)
		return asked
	}
	if p.times == nil {
		p.times = map[K]int{}
	}
	p.times[key]++
	more := p.times[key] - shortPendings
	if more <= 0 {
		return asked
	}
	wait := min(asked<<min(more, 10), longestPending)
	return wait - rand.N(wait/5) //nolint:gosec // nothing is guarded by it
}

// errDisputed is of something that somebody else keeps writing over.
var errDisputed = errors.New("somebody else has changed it again")

// errCrowded is of targets that a load balancer has no room for.
var errCrowded = errors.New("there are more targets than the cloud takes")

// comeBack turns an error into what the queue is to do. An error that it returns is retried with
// backoff; the others say themselves when it is worth trying again.
func comeBack(err error) (reconcile.Result, error) {
	wait, retry := time.Duration(0), false
	for _, e := range leaves(err) {
		after := cmp.Or(askedFor(e), patience(e))
		retry = retry || after == 0
		if wait == 0 || after < wait {
			wait = after
		}
	}
	if retry {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

// sooner is the shorter of two times to wait, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	return min(cmp.Or(a, b), cmp.Or(b, a))
}

// onlyPending reports whether nothing went wrong but that it is too early for something: then what was
// seen of the cloud is still so.
func onlyPending(err error) bool {
	return !slices.ContainsFunc(leaves(err), func(e error) bool { return !errors.Is(e, providers.ErrPending) })
}

// askedFor is how long a provider wants an error waited after; zero where it says nothing of it.
func askedFor(err error) time.Duration {
	if later, known := errors.AsType[*providers.Later](err); known {
		return later.In
	}
	return 0
}

// patience is how long to wait after an error; zero for one that knows nothing of it.
func patience(err error) time.Duration {
	switch {
	case apierrors.IsConflict(err), errors.Is(err, context.Canceled), errors.Is(err, errLong):
		return afterConflict
	case errors.Is(err, errDisputed):
		return afterDisputed
	case errors.Is(err, errCrowded):
		return afterCrowded
	case errors.Is(err, providers.ErrPending):
		return afterPending
	case errors.Is(err, providers.ErrDenied):
		return afterDenied
	case errors.Is(err, providers.ErrRejected):
		return afterRejected
	}
	return 0
}

// leaves are the errors that were joined into one. A join that was wrapped since is one error.
func leaves(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, leaves(e)...)
	}
	return out
}
