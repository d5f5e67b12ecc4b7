package queue

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

// This file decides when a key is reconciled again.

const (
	// An unknown error is retried with backoff. An API server or a cloud that was down for minutes is
	// tried again within LastRetry.
	FirstRetry = 50 * time.Millisecond
	LastRetry  = time.Minute

	AfterConflict = 100 * time.Millisecond // the cache will have caught up
	AfterPending  = time.Second
	afterDisputed = 10 * time.Second // after a change by another writer
	AfterDenied   = time.Minute      // for a person to correct the credentials
	AfterCrowded  = time.Minute      // for targets to leave
	AfterRejected = 10 * time.Minute // for a limit to be raised
)

// A patient reconciler chooses when a key is reconciled again by its error, and logs the error
// once.
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
		if p.failures.remove(key) {
			l.Info("reconciled after a failure")
		}
		result.RequeueAfter = p.pending.wait(key, result.RequeueAfter)
		return result, nil
	}
	result, retried := resultFor(err)
	if retried == nil {
		result.RequeueAfter = Sooner(result.RequeueAfter, due)
	}
	again := result.RequeueAfter.String()
	if retried != nil {
		again = "soon, with backoff up to " + LastRetry.String()
	}
	early := retried == nil && result.RequeueAfter <= AfterPending
	result.RequeueAfter = p.pending.wait(key, result.RequeueAfter)
	if !early && p.failures.isNew(key, err) {
		l.Error(err, "reconcile failed", "again", again)
	} else {
		l.V(1).Info("reconcile not finished", "why", err.Error(), "again", again)
	}
	return result, retried
}

// pending counts how often in a row a key had to wait for the cloud, or for a cache.
type pending[K comparable] struct {
	mu    sync.Mutex
	times map[K]int
}

// The first waits for a cloud are short, since many changes take a moment. The longest is for
// changes that take minutes.
const (
	shortPendings  = 3
	LongestPending = 10 * time.Second
)

// wait returns how long to wait. Waits in a row for the cloud, or for a cache, grow from the asked
// time; any other wait ends the row. A cache whose watch has broken lags for half a minute and
// more. Longer waits differ by up to a fifth, so that those of many load balancers do not end at
// once.
func (p *pending[K]) wait(key K, asked time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if asked != AfterPending && asked != AfterConflict {
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
	wait := min(asked<<min(more, 10), LongestPending)
	return wait - rand.N(wait/5) //nolint:gosec // nothing is guarded by it
}

// ErrDisputed is the error for a status that another writer has changed again.
var ErrDisputed = errors.New("another writer has changed it again")

// ErrCrowded is the error for a load balancer without room for targets.
var ErrCrowded = errors.New("there are more targets than the cloud takes")

// resultFor returns the result for an error, or the error if it is to be retried with backoff.
func resultFor(err error) (reconcile.Result, error) {
	wait, retry := time.Duration(0), false
	for _, e := range JoinedErrors(err) {
		after := cmp.Or(requestedDelay(e), RetryDelay(e))
		retry = retry || after == 0
		wait = Sooner(wait, after)
	}
	if retry {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

// Sooner returns the shorter of two waits; 0 is no wait.
func Sooner(a, b time.Duration) time.Duration {
	return min(cmp.Or(a, b), cmp.Or(b, a))
}

// OnlyPending reports whether every error is a wait for the cloud. The observation is then still
// valid.
func OnlyPending(err error) bool {
	return !slices.ContainsFunc(JoinedErrors(err), func(e error) bool {
		return !errors.Is(e, providers.ErrPending)
	})
}

// OnlyPendingOrRejected reports whether every error is about a single step: a wait for the cloud,
// or its refusal.
func OnlyPendingOrRejected(err error) bool {
	return !slices.ContainsFunc(JoinedErrors(err), func(e error) bool {
		return !errors.Is(e, providers.ErrPending) && !errors.Is(e, providers.ErrRejected)
	})
}

// requestedDelay returns how long a provider asks to wait after an error; zero if it does not.
func requestedDelay(err error) time.Duration {
	if later, known := errors.AsType[*providers.RetryAfter](err); known {
		return later.In
	}
	return 0
}

// RetryDelay returns how long to wait after an error; zero for one that is retried with backoff.
func RetryDelay(err error) time.Duration {
	switch {
	case apierrors.IsConflict(err), errors.Is(err, context.Canceled), errors.Is(err, errLong):
		return AfterConflict
	case errors.Is(err, ErrDisputed):
		return afterDisputed
	case errors.Is(err, ErrCrowded):
		return AfterCrowded
	case errors.Is(err, providers.ErrPending):
		return AfterPending
	case errors.Is(err, providers.ErrDenied):
		return AfterDenied
	case errors.Is(err, providers.ErrRejected):
		return AfterRejected
	}
	return 0
}

// JoinedErrors returns the errors that were joined into one. A join that was wrapped is one error.
func JoinedErrors(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, JoinedErrors(e)...)
	}
	return out
}
