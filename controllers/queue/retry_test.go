package queue

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
		"asked for":          {reason: "the provider says when", err: wrap(&providers.Later{Err: providers.ErrPending, In: 7 * time.Second}), wait: 7 * time.Second},
		"unknown, asked for": {reason: "the provider says when", err: &providers.Later{Err: errors.New("boom"), In: 7 * time.Second}, wait: 7 * time.Second},
		"unknown":            {reason: "nobody knows, so with backoff", err: errors.New("boom"), retry: true},
		"unknown beside one": {reason: "nobody knows of all of it", err: errors.Join(wrap(providers.ErrPending), errors.New("boom")), retry: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			result, err := comeBack(c.err)
			if result.RequeueAfter != c.wait || (err != nil) != c.retry {
				t.Errorf("comeBack = %v, %v; want %v, retry %v: %s", result, err, c.wait, c.retry, c.reason)
			}
		})
	}
}
