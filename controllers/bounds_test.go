package controllers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
)

// This file has tenants who want more load balancers than the class lets a namespace have.

// bounded is a world whose class has a bound.
func bounded(t *testing.T, most int, policy string) *world {
	t.Helper()
	w := newWorld(t)
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{
		DeletionPolicy: policy, LoadBalancers: v1alpha1.LoadBalancerBounds{PerNamespace: most},
	})
	w.serve("web", "web-1")
	return w
}

// balancers are the load balancers in the cloud.
func (w *world) balancers() []lb.Key {
	w.Helper()
	keys, err := w.cloud.Cloud.List(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return keys
}

// refused waits until the author of an Ingress is told of the bound, and returns all that is said.
func (w *world) refused(ingress string) (texts string) {
	w.Helper()
	w.told(ingress, "LoadBalancerQuota")
	for _, e := range w.events() {
		if e.Regarding.Name == ingress && e.Reason == "LoadBalancerQuota" {
			texts += e.Note + "\n"
		}
	}
	return texts
}

// One Ingress at a time is made, served and deleted, and each leaves a load balancer. The one past
// the bound is refused, and is told of those that were kept.
func TestLoadBalancersThatAreKeptAreBounded(t *testing.T) {
	w := bounded(t, 3, v1alpha1.DeletionPolicyRetain)
	for i := range 3 {
		name := fmt.Sprintf("shop-%d", i)
		w.create(w.ask(name, name+".example", "/", "web"))
		w.answers(name, "http://"+name+".example/", "web-1")
		w.remove(name)
	}
	w.create(w.ask("more", "more.example", "/", "web"))
	if text := w.refused("more"); !strings.Contains(text, w.namespace+"/shop-1/") {
		t.Errorf("it is told %q, without the load balancers that were kept", text)
	}
	w.calm()
	if keys := w.balancers(); len(keys) != 3 {
		t.Errorf("there are %v", keys)
	}
	// One that was kept is had again.
	w.create(w.ask("shop-1", "shop-1.example", "/", "web"))
	w.answers("shop-1", "http://shop-1.example/", "web-1")
}

// An Ingress whose group is edited goes on being served where it was when there is no room for
// another one.
func TestLoadBalancersThatAnIngressLeavesAreBounded(t *testing.T) {
	w := bounded(t, 3, v1alpha1.DeletionPolicyRetain)
	shop := w.ask("shop", "shop.example", "/", "web")
	annotate("fairlead.dev/group", "g0")(shop)
	w.create(shop)
	w.answers("shop", "http://shop.example/", "web-1")
	for i := 1; i < 6; i++ {
		w.change("shop", annotate("fairlead.dev/group", fmt.Sprintf("g%d", i)))
		if i > 2 {
			continue
		}
		w.eventually(func() error {
			keys := w.balancers()
			return noError(len(keys) == i+1, "there are %v", keys)
		})
	}
	w.refused("shop")
	w.calm()
	if keys := w.balancers(); len(keys) != 3 {
		t.Errorf("there are %v", keys)
	}
	w.answers("shop", "http://shop.example/", "web-1")
}

// Many at once are more than the bound, and when one is deleted, another one has its place.
func TestRoomForALoadBalancerIsUsed(t *testing.T) {
	w := bounded(t, 2, v1alpha1.DeletionPolicyDelete)
	names := []string{"a", "b", "c", "d", "e", "f"}
	for _, name := range names {
		w.create(w.ask(name, name+".example", "/", "web"))
	}
	served := func() (out []string) {
		for _, name := range names {
			if i := w.ingress(name); i != nil && len(i.Status.LoadBalancer.Ingress) > 0 {
				out = append(out, name)
			}
		}
		return out
	}
	w.eventually(func() error { return noError(len(served()) == 2, "served are %v", served()) })
	w.calm()
	before := served()
	if keys := w.balancers(); len(keys) != 2 || len(before) != 2 {
		t.Fatalf("there are %v, and served are %v", keys, before)
	}
	for _, name := range names {
		if !slices.Contains(before, name) {
			w.refused(name)
		}
	}
	w.remove(before[0])
	names = slices.DeleteFunc(names, func(name string) bool { return name == before[0] })
	w.eventually(func() error { return noError(len(served()) == 2, "served are %v", served()) })
	w.calm()
	if keys := w.balancers(); len(keys) != 2 || !slices.Contains(served(), before[1]) {
		t.Errorf("there are %v, and served are %v", keys, served())
	}
}
