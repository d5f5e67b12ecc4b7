package queue

import (
	"errors"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// This file fails in the same way, and in another one.

// Attempts that fail with other times, ports and IDs fail in the same way.
func TestTheSameFailure(t *testing.T) {
	const refused = "creating rule: AccessDenied (request 4711-ab)"
	for other, same := range map[string]bool{
		refused: true,
		"creating rule: AccessDenied (request 0815-cd)": true,
		"creating rule: Throttling (request 4711-ab)":   false,
		"": false,
	} {
		if got := SameFailure(refused, other); got != same {
			t.Errorf("%q fails like %q: %v, want %v", other, refused, got, same)
		}
	}
}

// A failure is news where it differs from the last one of its key, and until it is over.
func TestAFailureIsNewsOnce(t *testing.T) {
	var f failures[string]
	for i, c := range []struct {
		key, text string
		news      bool
	}{
		{"shop", "boom at 10:00", true},
		{"shop", "boom at 10:01", false},
		{"blog", "boom at 10:01", true},
		{"shop", "bang at 10:02", true},
		{"shop", "boom at 10:03", true},
		{"shop", "boom at 10:04", false},
	} {
		if got := f.isNew(c.key, errors.New(c.text)); got != c.news {
			t.Errorf("failure %d of %s is news: %v, want %v", i, c.key, got, c.news)
		}
	}
	if !f.remove("shop") || f.remove("shop") || f.remove("other") {
		t.Error("the failure of a key is not over once")
	}
	if !f.isNew("shop", errors.New("boom at 10:05")) {
		t.Error("after it is over the same failure is no news")
	}
	if f.isNew("blog", errors.New("boom at 10:06")) {
		t.Error("the failure of another key is over, too")
	}
	var empty failures[string]
	if !empty.isNew("shop", errors.New("")) {
		t.Error("a failure without a text is no news")
	}
}

// The line that controller-runtime logs for each error is left out, and no other.
func TestTheErrorOfAReconcilerIsNotLoggedTwice(t *testing.T) {
	var logged []string
	l := quiet(funcr.New(func(prefix, args string) { logged = append(logged, prefix+" "+args) }, funcr.Options{}))
	l = l.WithName("targets").WithValues("key", "shop")
	l.Error(errors.New("boom"), "Reconciler error")
	l.Error(errors.New("boom"), "reconcile failed")
	l.Info("reconciled after a failure")
	want := []string{
		`targets "msg"="reconcile failed" "error"="boom" "key"="shop"`,
		`targets "level"=0 "msg"="reconciled after a failure" "key"="shop"`,
	}
	if !slices.Equal(logged, want) {
		t.Errorf("the log has\n%q, want\n%q", logged, want)
	}
	if got := quiet(logr.Logger{}); got.GetSink() != nil {
		t.Error("a logger without a sink has one")
	}
}
