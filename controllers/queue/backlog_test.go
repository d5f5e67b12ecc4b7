package queue

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file measures how long changes take until the cloud has them.

// A change counts from when it was heard until the cloud has it. Of several changes of one key that
// a reconcile begins with, the first one counts.
func TestAChangeTakesUntilTheCloudHasIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Backlog[string]
		age := func(when string, want time.Duration) {
			t.Helper()
			if got := b.Oldest(); got != want {
				t.Errorf("%s the oldest change is %s old, want %s", when, got, want)
			}
		}
		age("before any change", 0)
		b.NoteChange("shop")
		time.Sleep(time.Second)
		b.NoteChange("shop")
		b.NoteChange("blog")
		age("when one has come again", time.Second)
		b.Begin("shop")
		time.Sleep(time.Second)
		age("while it is reconciled", 2*time.Second)
		b.NoteWork("shop")
		if took, worked := b.End("shop"); took != 2*time.Second || !worked {
			t.Errorf("the change took %s, worked: %v", took, worked)
		}
		age("with another one left", time.Second)
		if _, worked := b.End("shop"); worked {
			t.Error("a change is met twice")
		}
		b.Begin("blog")
		b.NoteWork("blog")
		if took, worked := b.End("blog"); took != time.Second || !worked {
			t.Errorf("the other change took %s, worked: %v", took, worked)
		}
		age("in the end", 0)
	})
}

// A change that comes during a reconcile is left for the next one.
func TestAChangeDuringAReconcileIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Backlog[string]
		b.NoteChange("shop")
		b.Begin("shop")
		time.Sleep(time.Minute)
		b.NoteChange("shop")
		b.NoteWork("shop")
		if took, worked := b.End("shop"); took != time.Minute || !worked {
			t.Errorf("the first change took %s, worked: %v", took, worked)
		}
		time.Sleep(time.Second)
		if got := b.Oldest(); got != time.Second {
			t.Errorf("the oldest change is %s old", got)
		}
	})
}

// A change of which the reconcile failed counts from when it was heard, whatever comes later.
func TestAChangeIsOpenUntilItIsMet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Backlog[string]
		b.NoteChange("shop")
		b.Begin("shop")
		b.NoteWork("shop")
		time.Sleep(time.Minute) // the reconcile has failed
		b.NoteChange("shop")
		b.Begin("shop")
		b.Begin("shop") // a retry brings nothing new
		time.Sleep(time.Minute)
		if took, worked := b.End("shop"); took != 2*time.Minute || !worked {
			t.Errorf("the change took %s, worked: %v", took, worked)
		}
	})
}

// A change for which nothing is done in the cloud takes no time.
func TestAChangeWithoutWorkIsNotMeasured(t *testing.T) {
	var b Backlog[string]
	b.NoteWork("shop") // without a change
	if _, worked := b.End("shop"); worked {
		t.Error("what was not heard is met")
	}
	b.NoteChange("shop")
	b.Begin("shop")
	if took, worked := b.End("shop"); took != 0 || worked {
		t.Errorf("a change without work took %s, worked: %v", took, worked)
	}
}

// The keys that an object leads to are heard of, and returned.
func TestTheKeysOfAnObjectAreRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Backlog[string]
		leadsTo := Recording(&b, func(_ context.Context, s *corev1.Service) []string { return []string{s.Name, s.Namespace} })
		got := leadsTo(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}})
		if !slices.Equal(got, []string{"web", "shop"}) {
			t.Errorf("it leads to %q", got)
		}
		time.Sleep(time.Second)
		for _, key := range got {
			b.Begin(key)
			b.NoteWork(key)
			if took, worked := b.End(key); took != time.Second || !worked {
				t.Errorf("the change of %s took %s, worked: %v", key, took, worked)
			}
		}
	})
}
