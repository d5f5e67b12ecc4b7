package controllers_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file tests what an operator does of a load balancer that is on its way from another controller, or to it. The API
// server has the record, and another writer writes it, as the command line does.

func TestALoadBalancerComesFromAnotherControllerAndGoesBack(t *testing.T) {
	w := newWorld(t)
	store := records.NewAdoptionStore(w.Client, w.Client, w.namespace)
	key := routing.NewKey([]string{w.class, w.namespace, "shop"}, v1alpha1.SchemeInternal, "", "")
	a := w.recorded(store, key)
	w.serve("web", "web-1")
	w.serve("api", "api-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.programmed("shop", v1alpha1.ReasonTakingOver)
	w.calm()
	if keys := w.balancers(); len(keys) > 0 {
		t.Fatalf("there is %q while it is being taken over", keys)
	}

	began := time.Now()
	w.enters(store, a, v1alpha1.AdoptionTaken)
	w.answers("shop", "http://shop.example/", "web-1")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it is served %s after it was taken over", took)
	}
	w.programmed("shop", v1alpha1.ReasonProgrammed)
	status := w.ingress("shop").Status

	w.enters(store, a, v1alpha1.AdoptionReleasing)
	w.eventually(func() error {
		acknowledged, err := store.Acknowledged(w.Context(), a)
		if err == nil && !acknowledged {
			err = noError(false, "the operator has not seen that it is given back")
		}
		return err
	})
	w.change("shop", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "api" })
	w.create(w.pod("web", "web-2"))
	w.answers("shop", "http://shop.example/", "web-2") // targets are kept up, and rules are not changed
	w.calm()
	w.answers("shop", "http://shop.example/", "web-")

	w.enters(store, a, v1alpha1.AdoptionReturned)
	w.eventually(func() error {
		return noError(len(w.ingress("shop").Finalizers) == 0, "it is still held: %v", w.ingress("shop").Finalizers)
	})
	w.calm()
	if diff := cmp.Diff(status, w.ingress("shop").Status); diff != "" {
		t.Errorf("its status is another one: %s", diff)
	}
	err := w.Get(t.Context(), client.ObjectKey{Name: v1alpha1.Name(string(key), w.namespace)}, &v1alpha1.LoadBalancer{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the report on it is still there: error %v", err)
	}
	if err := w.request(status.LoadBalancer.Ingress[0].IP, "http://shop.example/", "web-"); err != nil {
		t.Errorf("it is changed after it was given back: %v", err)
	}
	w.enters(store, a, v1alpha1.AdoptionReleased)
	w.answers("shop", "http://shop.example/", "api-1") // the class is still ours
}

// recorded writes a record of each field, which Put reads back.
func (w *world) recorded(store *records.AdoptionStore, key lb.Key) *records.Adoption {
	w.Helper()
	a := &records.Adoption{AdoptionMemory: v1alpha1.AdoptionMemory{
		From: v1alpha1.AdoptALB, ClusterName: "prod", Stack: w.namespace + "/shop", Key: string(key), Handle: "arn:a", Name: "k8s-a", Accepted: true,
		Finalizers:   []v1alpha1.IngressFinalizers{{Ingress: w.namespace + "/shop", Finalizers: []string{"ingress.k8s.aws/resources"}}},
		IngressClass: &runtime.RawExtension{Raw: []byte(`{"metadata":{"name":"alb"},"spec":{"controller":"ingress.k8s.aws/alb"}}`)},
	}}
	binding := json.RawMessage(`{"metadata":{"name":"k8s-a"}}`)
	if err := a.SetBindings([]json.RawMessage{binding}); err != nil {
		w.Fatal(err)
	}
	a.Enter(v1alpha1.AdoptionRecorded, time.Now())
	if err := store.Put(w.Context(), a); err != nil {
		w.Fatal(err)
	}
	read, err := store.Find(w.Context(), "prod", a.Stack)
	if err != nil || read == nil || !strings.Contains(string(read.IngressClass.Raw), "ingress.k8s.aws/alb") {
		w.Fatalf("the record is read as %+v, error %v", read, err)
	}
	stale := *read
	w.enters(store, read, v1alpha1.AdoptionPrepared)
	stale.Enter(v1alpha1.AdoptionTaken, time.Now())
	if err := store.Put(w.Context(), &stale); !apierrors.IsConflict(err) {
		w.Errorf("a record that has changed since is overwritten: error %v", err)
	}
	if err := store.Delete(w.Context(), &stale); !apierrors.IsConflict(err) {
		w.Errorf("a record that has changed since is deleted: error %v", err)
	}
	if _, err := w.columns(v1alpha1.Name(string(key), w.namespace) + ".adoption"); err != nil {
		w.Error(err)
	}
	return read
}

// enters has a record enter a state.
func (w *world) enters(store *records.AdoptionStore, a *records.Adoption, state string) {
	w.Helper()
	a.Enter(state, time.Now())
	if err := store.Put(w.Context(), a); err != nil {
		w.Fatal(err)
	}
}
