package queue

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// This file changes objects that are watched.

// service returns a Service in a version.
func service(name, version string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, ResourceVersion: version}}
}

// taken returns the keys that wait in a queue.
func taken[K comparable](q Queue[K]) (keys []K) {
	for q.Len() > 0 {
		k, _ := q.Get()
		q.Done(k)
		keys = append(keys, k)
	}
	return keys
}

// All keys that an object leads to are enqueued when it comes, when it goes, and when it changes in a
// way that matters. Then the new object says which they are.
func TestAChangeEnqueuesItsKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
		defer q.ShutDown()
		from := &informertest.FakeInformers{}
		w := Watch(from, &corev1.Service{}, ChangedVersion, func(_ context.Context, s *corev1.Service) []string {
			return []string{s.Name, s.Name + "@" + s.ResourceVersion}
		})
		if err := w.Start(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		informer, err := from.FakeInformerFor(t.Context(), &corev1.Service{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			what string
			do   func()
			want []string
		}{
			{"it comes", func() { informer.Add(service("web", "1")) }, []string{"web", "web@1"}},
			{"it changes", func() { informer.Update(service("web", "1"), service("web", "2")) }, []string{"web", "web@2"}},
			{"it is delivered again", func() { informer.Update(service("web", "2"), service("web", "2")) }, nil},
			{"it goes", func() { informer.Delete(service("web", "2")) }, []string{"web", "web@2"}},
		} {
			c.do()
			synctest.Wait()
			if got := taken[string](q); !slices.Equal(got, c.want) {
				t.Errorf("when %s, %q are enqueued, want %q", c.what, got, c.want)
			}
		}
	})
}

// A watch of a kind that the cluster does not have yet delays nothing. It begins with all objects that
// are there when the cluster has it.
func TestAWatchBeginsWithItsKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
		defer q.ShutDown()
		from := &informertest.FakeInformers{}
		names := func(_ context.Context, s *corev1.Service) []string { return []string{s.Name} }
		served := make(chan struct{})
		w := Optional(Watch(from, &corev1.Service{}, ChangedVersion, names), served).(watched[string])
		if err := w.fill(t.Context()); err != nil || from.InformersByGVK != nil {
			t.Fatalf("the cache is filled: %v, error %v", from.InformersByGVK, err)
		}
		if err := w.Start(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		if err := w.WaitForSync(t.Context()); err != nil || from.InformersByGVK != nil {
			t.Fatalf("it waits, and ends with %v; the informers are %v", err, from.InformersByGVK)
		}
		close(served)
		synctest.Wait()
		informer, err := from.FakeInformerFor(t.Context(), &corev1.Service{})
		if err != nil {
			t.Fatal(err)
		}
		informer.Add(service("web", "1"))
		synctest.Wait()
		if got := taken[string](q); !slices.Equal(got, []string{"web"}) {
			t.Errorf("%q are enqueued", got)
		}
		// With the kind, it is a watch like others, and its end ends one that waits.
		if err := Optional(Watch(from, &corev1.Service{}, ChangedVersion, names), served).Start(t.Context(), q); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if err := Optional(Watch(from, &corev1.Service{}, ChangedVersion, names), make(chan struct{})).Start(ctx, q); err != nil {
			t.Error(err)
		}
		cancel()
		synctest.Wait()
	})
}

// An event of a key enqueues it.
func TestAKeyEnqueuesItself(t *testing.T) {
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	defer q.ShutDown()
	EnqueueItself(t.Context(), event.TypedGenericEvent[string]{Object: "shop"}, q)
	if got := taken[string](q); !slices.Equal(got, []string{"shop"}) {
		t.Errorf("%q are enqueued", got)
	}
}

// Each kind of watch looks at its part of an object.
func TestWhichChangesMatter(t *testing.T) {
	before := service("web", "1")
	before.Generation, before.Labels, before.Annotations = 1, map[string]string{"a": "b"}, map[string]string{"c": "d"}
	for name, c := range map[string]struct {
		change                func(*corev1.Service)
		atAll, spec, labelled bool
	}{
		"nothing":          {func(*corev1.Service) {}, false, false, false},
		"the version only": {func(s *corev1.Service) { s.ResourceVersion = "2" }, true, false, false},
		"the spec":         {func(s *corev1.Service) { s.ResourceVersion, s.Generation = "2", 2 }, true, true, false},
		"an annotation":    {func(s *corev1.Service) { s.ResourceVersion, s.Annotations = "2", map[string]string{"c": "e"} }, true, true, false},
		"a label":          {func(s *corev1.Service) { s.ResourceVersion, s.Labels = "2", nil }, true, false, true},
	} {
		after := before.DeepCopy()
		c.change(after)
		for what, f := range map[string]struct {
			of   func(before, after client.Object) bool
			want bool
		}{"at all": {ChangedVersion, c.atAll}, "its spec": {ChangedSpec, c.spec}, "its labels": {ChangedLabels, c.labelled}} {
			if got := f.of(before, after); got != f.want {
				t.Errorf("%s: it has changed %s: %v, want %v", name, what, got, f.want)
			}
		}
	}
}
