package ingresses

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/queue"
)

// This file tests what is taken for a change by another writer.

type entries = []networkingv1.IngressLoadBalancerIngress

var none, ours, theirs = entries(nil), entries{{Hostname: "ours.example"}}, entries{{Hostname: "theirs.example"}}

// An Ingress is changed by another writer if it lacks the finalizer that was added, or has another
// status than the one that was published last.
func TestWhatAnotherWriterChanges(t *testing.T) {
	type writer = func(w *Writer, ing *networkingv1.Ingress) error
	var (
		add       = func(w *Writer, ing *networkingv1.Ingress) error { return w.AddFinalizer(t.Context(), ing) }
		remove    = func(w *Writer, ing *networkingv1.Ingress) error { return w.RemoveFinalizer(t.Context(), ing) }
		unpublish = func(w *Writer, ing *networkingv1.Ingress) error {
			return w.Unpublish(t.Context(), ing, []string{"ours.example"})
		}
		stop    = func(w *Writer, ing *networkingv1.Ingress) error { w.StopRepairing(nameOf(ing)); return nil }
		forget  = func(w *Writer, ing *networkingv1.Ingress) error { w.Forget(nameOf(ing)); return nil }
		publish = func(e entries) writer {
			return func(w *Writer, ing *networkingv1.Ingress) error { return w.Publish(t.Context(), ing, e) }
		}
	)
	for name, c := range map[string]struct {
		writes          []writer
		unheld          bool    // the finalizer is missing afterwards
		status          entries // afterwards
		changedByOthers bool
	}{
		"nothing is written":               {nil, true, theirs, false},
		"a status without the finalizer":   {[]writer{publish(ours)}, true, theirs, false},
		"no status without the finalizer":  {[]writer{publish(none)}, true, theirs, false},
		"the finalizer stays":              {[]writer{add}, false, theirs, false},
		"the finalizer goes":               {[]writer{add}, true, theirs, true},
		"the finalizer was removed":        {[]writer{add, remove}, true, theirs, false},
		"the Ingress was forgotten":        {[]writer{add, forget}, true, theirs, false},
		"the status stays":                 {[]writer{add, publish(ours)}, false, ours, false},
		"the status goes":                  {[]writer{add, publish(ours)}, false, none, true},
		"the status is another":            {[]writer{add, publish(ours)}, false, theirs, true},
		"it was added once more":           {[]writer{add, publish(ours), add}, false, theirs, true},
		"an empty status is another":       {[]writer{add, publish(none)}, false, theirs, true},
		"the status is an earlier one":     {[]writer{add, publish(theirs), publish(ours)}, false, theirs, true},
		"the status is the later one":      {[]writer{add, publish(theirs), publish(ours)}, false, ours, false},
		"the status is not repaired":       {[]writer{add, publish(ours), stop}, false, theirs, false},
		"the finalizer still is":           {[]writer{add, publish(ours), stop}, true, theirs, true},
		"the status was removed":           {[]writer{add, publish(ours), unpublish}, false, theirs, false},
		"what is not held is not repaired": {[]writer{stop}, true, theirs, false},
	} {
		t.Run(name, func(t *testing.T) {
			api, read := written(t, false, v1alpha1.IngressFinalizer)
			w := NewWriter(api)
			for _, write := range c.writes {
				if err := write(w, get(t, api)); err != nil {
					t.Fatal(err)
				}
			}
			if c.unheld {
				read.Finalizers = nil
			}
			read.Status.LoadBalancer.Ingress = c.status
			if got := w.ChangedByOthers(read); got != c.changedByOthers {
				t.Errorf("another writer has changed it: %t", got)
			}
		})
	}
}

// A status that another writer changes is written again, every ten seconds at most. One that is not
// the one before it is written at once.
func TestAStatusIsRepairedEveryTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, read := written(t, false, v1alpha1.IngressFinalizer) // has their status each time
		w := NewWriter(api)
		if err := w.AddFinalizer(t.Context(), read); err != nil {
			t.Fatal(err)
		}
		for i, step := range []struct {
			after    time.Duration
			status   entries
			disputed bool
		}{
			{0, ours, false},
			{0, ours, false}, // the first repair
			{repairEvery - 1, ours, true},
			{1, ours, false},
			{time.Second, ours, true},
			{0, none, false},
			{0, none, false},
			{0, none, true},
			{0, ours, false},
		} {
			time.Sleep(step.after)
			read.ResourceVersion = strconv.Itoa(100 + i) // the other writer has written
			if err := w.Publish(t.Context(), read, step.status); errors.Is(err, queue.ErrDisputed) != step.disputed || err != nil && !step.disputed {
				t.Errorf("step %d ends with %v", i, err)
			}
		}
	})
}

// An Ingress whose status was unpublished can be released as it was read.
func TestTheFinalizerIsRemovedAfterTheStatus(t *testing.T) {
	api, read := written(t, false, others, v1alpha1.IngressFinalizer)
	w := NewWriter(api)
	if err := w.Unpublish(t.Context(), read, []string{"theirs.example"}); err != nil {
		t.Fatal(err)
	}
	if err := w.RemoveFinalizer(t.Context(), read); err != nil {
		t.Error(err)
	}
	if got := get(t, api); len(got.Finalizers) != 1 || len(got.Status.LoadBalancer.Ingress) > 0 {
		t.Errorf("what is left is %q and %v", got.Finalizers, got.Status.LoadBalancer.Ingress)
	}
}

// An entry goes by its hostname, and by its address where it has no hostname. A record without an
// address takes none away.
func TestWithoutAddresses(t *testing.T) {
	host, ip, both, neither := entries{{Hostname: "a.example"}}, entries{{IP: "192.0.2.1"}}, entries{{Hostname: "a.example", IP: "192.0.2.1"}}, entries{{}}
	for name, c := range map[string]struct {
		entries entries
		address string
		goes    bool
	}{
		"its hostname":                          {host, "a.example", true},
		"another hostname":                      {host, "b.example", false},
		"its address":                           {ip, "192.0.2.1", true},
		"another address":                       {ip, "192.0.2.2", false},
		"the hostname of both":                  {both, "a.example", true},
		"the address beside a hostname":         {both, "192.0.2.1", false},
		"no address, of a hostname":             {host, "", false},
		"no address, of an address":             {ip, "", false},
		"no address, of an entry that has none": {neither, "", false},
	} {
		if left := WithoutAddresses(c.entries, []string{c.address}); (len(left) == 0) != c.goes {
			t.Errorf("%s: %v is left", name, left)
		}
	}
}
