package controllers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
)

// This file has a class that is missing, ours, or another controller's.

// remembered is a keeper of records that were kept by an operator before.
type remembered struct {
	records.Store
	known map[lb.Key]records.Record
	err   error
}

func (r remembered) Load(context.Context) (map[lb.Key]records.Record, error) { return r.known, r.err }

// classOf returns a class of a controller, with parameters.
func classOf(controller, parameters string) *networkingv1.IngressClass {
	out := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}}
	out.Spec.Controller = controller
	if parameters != "" {
		out.Spec.Parameters = &networkingv1.IngressClassParametersReference{Kind: "LoadBalancerClass", Name: parameters}
	}
	return out
}

// A trial is a classMaker of the class fairlead, and its cluster.
type classTrial struct {
	*classMaker
	client client.WithWatch
	told   *events.FakeRecorder
}

func newClassTrial(kept remembered, failing interceptor.Funcs, objects ...client.Object) classTrial {
	c := fake.NewClientBuilder().WithScheme(cluster.NewScheme()).WithObjects(objects...).WithInterceptorFuncs(failing).Build()
	told := events.NewFakeRecorder(10)
	maker, _ := newManagedClass("fairlead", nil, c, told, records.NewCache(kept, false))
	m := maker.(*classMaker)
	m.cache = c
	return classTrial{m, c, told}
}

// there returns the class as it is in the cluster; nil for none.
func (c classTrial) there(t *testing.T) *networkingv1.IngressClass {
	t.Helper()
	var out networkingv1.IngressClass
	err := c.client.Get(t.Context(), client.ObjectKey{Name: "fairlead"}, &out)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return &out
}

// A class that is missing is created. One that is deleted comes back as it was.
func TestAMissingClassIsCreated(t *testing.T) {
	for name, before := range map[string]*networkingv1.IngressClass{
		"it never was there": nil,
		"it had parameters":  classOf(ingress.ControllerName, "internal"),
	} {
		t.Run(name, func(t *testing.T) {
			c := newClassTrial(remembered{}, interceptor.Funcs{})
			want := classOf(ingress.ControllerName, "")
			if before != nil {
				want = before
				if err := c.client.Create(t.Context(), before.DeepCopy()); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Reconcile(t.Context(), "fairlead"); err != nil {
					t.Fatal(err)
				}
				if err := c.client.Delete(t.Context(), before.DeepCopy()); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := c.Reconcile(t.Context(), "fairlead"); err != nil {
				t.Fatal(err)
			}
			got := c.there(t)
			if got == nil || got.Spec.Controller != want.Spec.Controller || (got.Spec.Parameters == nil) != (want.Spec.Parameters == nil) {
				t.Errorf("the class is %+v, want %+v", got, want)
			}
			if len(c.told.Events) > 0 {
				t.Errorf("the event is %q", <-c.told.Events)
			}
		})
	}
}

// The class of another controller is left as it is, and its owner is told.
func TestAClassOfAnotherControllerIsLeft(t *testing.T) {
	c := newClassTrial(remembered{}, interceptor.Funcs{}, classOf("nginx.example/ingress", "their"))
	if _, err := c.Reconcile(t.Context(), "fairlead"); err != nil {
		t.Fatal(err)
	}
	if got := c.there(t); got.Spec.Controller != "nginx.example/ingress" || got.Spec.Parameters == nil {
		t.Errorf("the class is %+v", got)
	}
	if len(c.told.Events) != 1 {
		t.Fatalf("there are %d events", len(c.told.Events))
	}
	if told := <-c.told.Events; !strings.HasPrefix(told, "Warning ClassTaken ") || !strings.Contains(told, "nginx.example/ingress") {
		t.Errorf("the event is %q", told)
	}
	c.events = nil // the operator may not write events there
	if _, err := c.Reconcile(t.Context(), "fairlead"); err != nil {
		t.Error(err)
	}
}

// A class is not created where load balancers of it are served under parameters that are lost:
// without them they might be open to more clients.
func TestAClassWhoseParametersAreLostIsNotCreated(t *testing.T) {
	internal := &v1alpha1.LoadBalancerClassSpec{TargetPorts: []string{"8080"}}
	record := func(class *v1alpha1.LoadBalancerClassSpec) records.Record {
		return records.Record{Memory: v1alpha1.Memory{Class: class}}
	}
	for name, c := range map[string]struct {
		known map[lb.Key]records.Record
		want  bool
	}{
		"nothing is served":       {nil, true},
		"served under parameters": {map[lb.Key]records.Record{"fairlead/shop/web/internal": record(internal)}, false},
		"served under none":       {map[lb.Key]records.Record{"fairlead/shop/web/internal": record(nil)}, true},
		"served under empty ones": {map[lb.Key]records.Record{"fairlead/shop/web/internal": record(&v1alpha1.LoadBalancerClassSpec{})}, true},
		"another class is served": {map[lb.Key]records.Record{"fairlead-2/shop/web/internal": record(internal)}, true},
		"one of several is":       {map[lb.Key]records.Record{"a/b/c/d": record(internal), "fairlead/a/b/c": record(nil), "fairlead/shop/web/internal": record(internal)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newClassTrial(remembered{known: c.known}, interceptor.Funcs{})
			if _, err := m.Reconcile(t.Context(), "fairlead"); err != nil {
				t.Fatal(err)
			}
			if got := m.there(t) != nil; got != c.want {
				t.Errorf("it is created: %v, want %v", got, c.want)
			}
		})
	}
}

// An error is returned, so that it is tried again. Where another replica has created the class
// there is none.
func TestErrorsAreTriedAgain(t *testing.T) {
	down := errors.New("connection refused")
	creates := func(err error) interceptor.Funcs {
		return interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return err }}
	}
	for name, c := range map[string]struct {
		kept    remembered
		failing interceptor.Funcs
		want    error
		says    string
	}{
		"reading": {remembered{}, interceptor.Funcs{
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return down
			},
		}, down, ""},
		"creating":            {remembered{}, creates(down), down, "creating IngressClass fairlead"},
		"it is created twice": {remembered{}, creates(apierrors.NewAlreadyExists(schema.GroupResource{}, "fairlead")), nil, ""},
		"remembering":         {remembered{err: down}, interceptor.Funcs{}, down, "reading the records"},
	} {
		_, err := newClassTrial(c.kept, c.failing).Reconcile(t.Context(), "fairlead")
		if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: the error is %v, want %v", name, err, c.want)
		}
	}
}

// The class is looked at in the beginning, and whenever it changes. Other classes do not matter.
func TestTheClassIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &informertest.FakeInformers{}
		_, sources := newManagedClass("fairlead", from, nil, nil, nil)
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
		defer q.ShutDown()
		for _, s := range sources {
			if err := s.Start(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		informer, err := from.FakeInformerFor(t.Context(), &networkingv1.IngressClass{})
		if err != nil {
			t.Fatal(err)
		}
		other := classOf(ingress.ControllerName, "")
		other.Name = "other"
		for i, c := range []struct {
			do   func()
			want []string
		}{
			{func() {}, []string{"fairlead"}},
			{func() { informer.Delete(other) }, nil},
			{func() { informer.Delete(classOf(ingress.ControllerName, "")) }, []string{"fairlead"}},
		} {
			c.do()
			synctest.Wait()
			var got []string
			for q.Len() > 0 {
				name, _ := q.Get()
				q.Done(name)
				got = append(got, name)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("event %d enqueues %q, want %q", i, got, c.want)
			}
		}
	})
}
