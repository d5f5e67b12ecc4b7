package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/fairlead/providers"
)

// This file tests when reconciles come back.

func TestWaitsForACloudGrow(t *testing.T) {
	var p pending[string]
	var total time.Duration
	for range 10 {
		total += p.wait("shop", AfterPending)
	}
	// 1, 1, 1, 2, 4, 8, 10, 10, 10, 10 s, of which the later ones may be a fifth shorter.
	if total < 46*time.Second || total > 57*time.Second {
		t.Errorf("ten waits are %s", total)
	}
	for n := range shortPendings {
		if wait := p.wait("blog", AfterPending); wait != AfterPending {
			t.Errorf("the short wait %d is %s", n, wait)
		}
	}
	total = 0
	for range 10 { // 0.1, 0.1, 0.1, 0.2 and up to 10 s: a cache whose watch has broken lags for half a minute
		total += p.wait("lags", AfterConflict)
	}
	if total < 10*time.Second || total > 25*time.Second {
		t.Errorf("ten waits for a cache are %s", total)
	}
	if wait := p.wait("web", AfterPending); wait != AfterPending {
		t.Errorf("the first wait of another one is %s", wait)
	}
	if wait := p.wait("shop", 0); wait != 0 {
		t.Errorf("what is done is waited for %s", wait)
	}
	if wait := p.wait("shop", AfterPending); wait != AfterPending {
		t.Errorf("the first wait after it was done is %s", wait)
	}
	if wait := p.wait("shop", AfterRejected); wait != AfterRejected {
		t.Errorf("a wait for something else is %s", wait)
	}
}

func TestComeBack(t *testing.T) {
	wrap := func(err error) error { return fmt.Errorf("applying: %w", err) }
	conflict := apierrors.NewConflict(schema.GroupResource{}, "shop", errors.New("changed"))
	cases := map[string]struct {
		reason string
		err    error
		wait   time.Duration
		retry  bool
	}{
		"none":               {reason: "there is nothing to come back for"},
		"pending":            {reason: "the cloud says that it takes a moment", err: wrap(providers.ErrPending), wait: AfterPending},
		"rejected":           {reason: "trying again is pointless until a limit changes", err: wrap(providers.ErrRejected), wait: AfterRejected},
		"rejected, pending":  {reason: "the earliest decides", err: errors.Join(wrap(providers.ErrRejected), wrap(providers.ErrPending)), wait: AfterPending},
		"denied":             {reason: "somebody has to fix credentials", err: wrap(providers.ErrDenied), wait: AfterDenied},
		"conflict":           {reason: "the cache catches up by itself", err: wrap(conflict), wait: AfterConflict},
		"asked for":          {reason: "the provider says when", err: wrap(&providers.RetryAfter{Err: providers.ErrPending, In: 7 * time.Second}), wait: 7 * time.Second},
		"unknown, asked for": {reason: "the provider says when", err: &providers.RetryAfter{Err: errors.New("boom"), In: 7 * time.Second}, wait: 7 * time.Second},
		"unknown":            {reason: "nobody knows, so with backoff", err: errors.New("boom"), retry: true},
		"disputed":           {reason: "another writer may go on", err: wrap(ErrDisputed), wait: afterDisputed},
		"crowded":            {reason: "targets may have left", err: wrap(ErrCrowded), wait: AfterCrowded},
		"cut off":            {reason: "the operator stops, or took too long", err: wrap(context.Canceled), wait: AfterConflict},
		"took too long":      {reason: "the next one goes on", err: wrap(errLong), wait: AfterConflict},
		"one beside unknown": {reason: "nobody knows of all of it", err: errors.Join(errors.New("boom"), wrap(providers.ErrPending)), retry: true},
		"unknown beside one": {reason: "nobody knows of all of it", err: errors.Join(wrap(providers.ErrPending), errors.New("boom")), retry: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			result, err := resultFor(c.err)
			if result.RequeueAfter != c.wait || (err != nil) != c.retry {
				t.Errorf("comeBack = %v, %v; want %v, retry %v: %s", result, err, c.wait, c.retry, c.reason)
			}
		})
	}
}

// Errors that were joined are read one by one. What was observed is true while all of them wait for
// the cloud.
func TestJoinedErrorsAreReadOneByOne(t *testing.T) {
	pending := fmt.Errorf("applying: %w", providers.ErrPending)
	boom := errors.New("boom")
	wrapped := fmt.Errorf("both: %w", errors.Join(pending, boom))
	for name, c := range map[string]struct {
		err     error
		want    []error
		pending bool
	}{
		"none":              {nil, nil, true},
		"one":               {pending, []error{pending}, true},
		"another":           {boom, []error{boom}, false},
		"two that wait":     {errors.Join(pending, pending), []error{pending, pending}, true},
		"one of three":      {errors.Join(pending, errors.Join(boom, pending)), []error{pending, boom, pending}, false},
		"a join in a frame": {wrapped, []error{wrapped}, true},
	} {
		if got := JoinedErrors(c.err); !slices.Equal(got, c.want) {
			t.Errorf("%s: there are %q, want %q", name, got, c.want)
		}
		if got := OnlyPending(c.err); got != c.pending {
			t.Errorf("%s: all of it waits: %v, want %v", name, got, c.pending)
		}
	}
}

// Of two times to wait the shorter one counts, and one that is none does not.
func TestTheShorterWaitCounts(t *testing.T) {
	for _, c := range [][3]time.Duration{{0, 0, 0}, {0, 1, 1}, {2, 0, 2}, {1, 2, 1}, {2, 1, 1}} {
		if got := Sooner(c[0], c[1]); got != c[2] {
			t.Errorf("of %d and %d it is %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

// A script is a reconciler that ends as a test says.
type script struct {
	result reconcile.Result
	err    error
}

func (s *script) Reconcile(context.Context, string) (reconcile.Result, error) { return s.result, s.err }

// A reconcile comes back as its error asks for, or sooner if it said so itself. An error that takes
// longer than a moment is logged, once, and so is its end.
func TestWhenAReconcileComesBackAndWhatIsLogged(t *testing.T) {
	var logged []string
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{}))
	s := &script{}
	p := &patient[string]{TypedReconciler: s}
	boom := errors.New("boom")
	for _, c := range []struct {
		what    string
		err     error
		due     time.Duration // what the reconciler asks for itself
		after   time.Duration
		retried bool
		says    string // "" for no line
	}{
		{"all is done", nil, time.Hour, time.Hour, false, ""},
		{"the cloud takes a moment", providers.ErrPending, 0, AfterPending, false, ""},
		{"it is refused", providers.ErrDenied, 0, AfterDenied, false, `"again"="1m0s"`},
		{"it is refused again", providers.ErrDenied, 0, AfterDenied, false, ""},
		{"it is refused, and something is due sooner", providers.ErrDenied, time.Second * 5, 5 * time.Second, false, ""},
		{"it is refused, and something is due later", providers.ErrDenied, time.Hour, AfterDenied, false, ""},
		{"it fails in another way", boom, 5 * time.Second, 0, true, `"again"="soon, with backoff up to 1m0s"`},
		{"it fails in this way again", boom, 0, 0, true, ""},
		{"it is done", nil, 0, 0, false, "reconciled after a failure"},
		{"it is still done", nil, 0, 0, false, ""},
	} {
		logged = nil
		s.result, s.err = reconcile.Result{RequeueAfter: c.due}, c.err
		result, err := p.Reconcile(ctx, "shop")
		if result.RequeueAfter != c.after || (err != nil) != c.retried || c.retried && !errors.Is(err, c.err) {
			t.Errorf("%s: it comes back in %s, %v; want %s, with an error: %v", c.what, result.RequeueAfter, err, c.after, c.retried)
		}
		if len(logged) > 1 || (len(logged) == 1) != (c.says != "") || c.says != "" && !strings.Contains(logged[0], c.says) {
			t.Errorf("%s: the log has %q, want %q", c.what, logged, c.says)
		}
	}
}

// Reconciles that wait in a row for the cloud come back less and less often, whether they say so by
// an error or by their result.
func TestReconcilesThatWaitInARowComeBackLessOften(t *testing.T) {
	for name, s := range map[string]*script{
		"an error": {err: providers.ErrPending},
		"no error": {result: reconcile.Result{RequeueAfter: AfterPending}},
	} {
		p := &patient[string]{TypedReconciler: s}
		var last time.Duration
		for range shortPendings + 2 {
			result, err := p.Reconcile(t.Context(), "shop")
			if err != nil {
				t.Fatal(err)
			}
			last = result.RequeueAfter
		}
		if last < 3*time.Second || last > 4*time.Second {
			t.Errorf("with %s the fifth wait is %s", name, last)
		}
	}
}
