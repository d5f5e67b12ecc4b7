package targets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file has the target group of a binding, which others made. Its name looks like that of one of nodes
// with certain labels.

var bound = lb.GroupKey{
	Key: routing.NewBindingKey("shop", "web", ""),
	ID:  "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/nodes-web/0123456789abcdef",
}

// A binding is a trial with a target group of others, in which they may have targets.
type binding struct {
	*trial
	remembered []string // how many targets, each time
	stored     map[lb.Key][]lb.Target
	others     []lb.Target
}

func newBinding(t *testing.T, others ...lb.Target) *binding {
	c := &binding{trial: newTrial(t, interceptor.Funcs{}), others: others}
	c.cloud.set(others)
	c.Remember = func(_ context.Context, k lb.GroupKey, own []lb.Target) error {
		c.remembered = append(c.remembered, fmt.Sprintf("%d", len(own)))
		return nil
	}
	c.Remembered = func(lb.GroupID) map[lb.Key][]lb.Target { return c.stored }
	c.Cloud = &keeping{cloud: c.cloud}
	return c
}

// keeping is a cloud in which targets of others stay. Something can happen during a call.
type keeping struct {
	*cloud
	during func()
}

func (k *keeping) SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target) error {
	if during := k.during; during != nil {
		k.during = nil
		during()
	}
	want = slices.Clone(want)
	for _, h := range k.has {
		if !slices.Contains(want, h.Target) && !providers.MayRemove(ctx, h.Target) {
			want = append(want, h.Target)
		}
	}
	return k.cloud.SetTargets(ctx, key, group, want)
}

// bind has the endpoints of the Service registered. Own are those that were, of a group that others use, too; nil of
// one that they do not.
func (c *binding) bind(own []lb.Target) { c.bindKey(bound.Key, own) }

func (c *binding) bindKey(key lb.Key, own []lb.Target) {
	c.Book.Bind(c.t.Context(), key, Bound{Own: own, Shared: own != nil,
		TargetGroup: lb.TargetGroup{ID: bound.ID, Service: "shop/web", Port: "80", TargetType: v1alpha1.TargetTypeIP, Family: "ipv4"}})
}

func (c *binding) reconcile(what string, fails bool, want ...string) {
	c.t.Helper()
	if _, err := c.Reconcile(c.t.Context(), bound); (err != nil) != fails {
		c.t.Errorf("%s: %v", what, err)
	}
	var got []string
	for _, h := range c.cloud.has {
		got = append(got, h.Address)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		c.t.Errorf("%s: the targets are %q, want %q", what, got, want)
	}
}

// A binding has its target group for itself: targets that are not its own are removed. It leaves it empty.
func TestABindingHasItsTargetGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBinding(t, lb.Target{Address: "10.1.0.1", Port: 80})
		c.pods([]int{1, 2}, nil)
		c.bind(nil)
		if got := c.Book.Bindings(serviceOf("web")); !slices.Equal(got, []lb.Key{bound.Key}) {
			t.Errorf("the bindings of the Service are %q", got)
		}
		c.Cloud.(*keeping).during = func() {
			if want := []string{"2"}; !slices.Equal(c.remembered, want) {
				t.Errorf("before it registers them, %v targets are remembered, want %v", c.remembered, want)
			}
		}
		c.reconcile("at first", false, "10.0.0.1", "10.0.0.2")
		c.pods([]int{2}, nil)
		c.reconcile("a Pod is gone", false, "10.0.0.2")
		if c.Book.HasLeft(bound.Key, bound.ID) {
			t.Error("it has left before it was to")
		}
		c.Book.Leave(t.Context(), bound.Key, bound.ID, nil)
		c.reconcile("it leaves", false)
		if want := []string{"2", "0"}; !c.Book.HasLeft(bound.Key, bound.ID) || !slices.Equal(c.remembered, want) {
			t.Errorf("it has left: %t; it remembers %v targets, want %v", c.Book.HasLeft(bound.Key, bound.ID), c.remembered, want)
		}
		c.bind(nil)
		c.reconcile("it comes back", false, "10.0.0.2")
		c.Book.Unbind(t.Context(), bound.Key)
		c.pods(nil, nil)
		c.reconcile("it is forgotten", false, "10.0.0.2")
		if len(c.Book.BoundKeys("shop", "web")) > 0 {
			t.Error("it is still known")
		}
	})
}

// Where others use the target group, too, their targets stay. What is a binding's own is remembered before a
// call, since its answer may be lost, and by an operator that begins anew.
func TestABindingSharesItsTargetGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBinding(t, lb.Target{Address: "10.1.0.1", Port: 80}, lb.Target{Address: "10.0.0.9", Port: 8080})
		c.pods([]int{1, 2}, nil)
		c.bind([]lb.Target{{Address: "10.0.0.9", Port: 8080}}) // which an earlier operator has registered
		c.cloud.fails = errors.New("the answer is lost")
		c.reconcile("the answer is lost", true, "10.0.0.9", "10.1.0.1")
		c.cloud.fails = nil
		c.reconcile("at first", false, "10.0.0.1", "10.0.0.2", "10.1.0.1")
		if want := []string{"3", "2"}; !slices.Equal(c.remembered, want) {
			t.Errorf("it remembers %v targets, want %v", c.remembered, want)
		}
		c.cloud.has = append(c.cloud.has, lb.TargetHealth{Target: lb.Target{Address: "10.1.0.2", Port: 80}})
		c.pods([]int{2}, nil)
		c.reconcile("a Pod is gone", false, "10.0.0.2", "10.1.0.1", "10.1.0.2")
		c.Book.Leave(t.Context(), bound.Key, bound.ID, []lb.Target{{Address: "10.0.0.2", Port: 8080}})
		c.reconcile("it leaves", false, "10.1.0.1", "10.1.0.2")
		if !c.Book.HasLeft(bound.Key, bound.ID) {
			t.Error("it has not left")
		}
	})
}

// Of two bindings with the same endpoints in one target group, one that gives a target up leaves it to the other, also
// if that one was not read yet. What both give up is removed, whichever comes first.
func TestTwoBindingsWithTheSameTargets(t *testing.T) {
	other := routing.NewBindingKey("shop", "beside", "")
	target := func(n int) lb.Target { return lb.Target{Address: fmt.Sprintf("10.0.0.%d", n), Port: 8080} }
	synctest.Test(t, func(t *testing.T) {
		c := newBinding(t, target(1), target(2), target(3))
		c.stored = map[lb.Key][]lb.Target{other: {target(3)}}
		c.pods([]int{1}, nil)
		c.bind([]lb.Target{target(1), target(2), target(3)})
		c.reconcile("the other one is not read yet", false, "10.0.0.1", "10.0.0.3")

		c.bindKey(other, []lb.Target{target(1), target(3)})
		second := lb.GroupKey{Key: other, ID: bound.ID}
		if _, err := c.Reconcile(t.Context(), second); err != nil {
			t.Fatal(err)
		}
		c.pods([]int{2}, nil)
		c.Cloud.(*keeping).during = func() {
			if _, err := c.Reconcile(t.Context(), second); err != nil {
				t.Error(err)
			}
		}
		c.reconcile("both give one up", false, "10.0.0.2")
	})
}

// A binding that has its target group for itself takes over targets that it finds there, in writing. One that removes
// them at the same time costs it none, whichever comes first.
func TestABindingTakesOverTargets(t *testing.T) {
	second := lb.GroupKey{Key: routing.NewBindingKey("shop", "beside", ""), ID: bound.ID}
	target := lb.Target{Address: "10.0.0.1", Port: 8080}
	for _, whileItRemembers := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newBinding(t, target)
			c.pods([]int{1}, nil)
			comes := func() {
				for range 2 { // it looks once more after it has taken them over
					if _, err := c.Reconcile(t.Context(), second); err != nil {
						t.Error(err)
					}
				}
			}
			c.Book.Leave(t.Context(), bound.Key, bound.ID, []lb.Target{target})
			c.bindKey(second.Key, nil)
			if remember := c.Remember; whileItRemembers {
				c.Remember = func(ctx context.Context, k lb.GroupKey, own []lb.Target) error {
					c.Remember = remember
					c.reconcile("the first one leaves", false)
					return remember(ctx, k, own)
				}
			} else {
				c.Cloud.(*keeping).during = comes
				c.reconcile("the first one leaves", false)
			}
			comes()
			if slices.Sort(c.remembered); !slices.Equal(c.remembered, []string{"0", "1"}) {
				t.Errorf("%v targets are remembered", c.remembered)
			}
			c.Book.Unbind(t.Context(), bound.Key)
			c.Book.Leave(t.Context(), bound.Key, bound.ID, []lb.Target{target})
			c.reconcile("the first one has left", false, "10.0.0.1")
			c.Book.Leave(t.Context(), second.Key, bound.ID, nil)
			comes()
			c.reconcile("both have left", false)
		})
	}
}

// A binding is told, once, what the cloud refuses, and that it no longer does.
func TestABindingIsToldOfErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBinding(t)
		c.pods([]int{1}, nil)
		c.bind(nil)
		c.cloud.fails = errors.New("no, request 1")
		c.reconcile("refused", true)
		c.cloud.fails = errors.New("no, request 2")
		c.reconcile("refused again", true)
		if _, _, failed := c.Book.Problem(bound.Key, bound.ID); failed == nil || c.later != 1 {
			t.Errorf("the problem is %v, and is reported %d times", failed, c.later)
		}
		c.cloud.fails = nil
		c.reconcile("taken", false, "10.0.0.1")
		if _, _, failed := c.Book.Problem(bound.Key, bound.ID); failed != nil || c.later != 2 {
			t.Errorf("the problem is %v, and is reported %d times", failed, c.later)
		}
		time.Sleep(time.Minute)
		if len(c.Book.Bindings(cluster.RefTo(cluster.KindService, "shop", "other"))) > 0 {
			t.Error("another Service has the binding")
		}
	})
}

// The EndpointSlices of a Service with both families are those of the target group's family.
func TestATargetGroupHasAFamily(t *testing.T) {
	for family, want := range map[string]string{"ipv4": "10.0.0.1", "ipv6": "2001:db8::1"} {
		synctest.Test(t, func(t *testing.T) {
			c := newBinding(t)
			service := &corev1.Service{}
			if err := c.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, service); err != nil {
				t.Fatal(err)
			}
			service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
			if err := c.client.Update(t.Context(), service); err != nil {
				t.Fatal(err)
			}
			c.pods(nil, nil)
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1-1"}}
			pod.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "2001:db8::1"}}
			c.create(pod)
			for address, of := range map[string]discoveryv1.AddressType{"10.0.0.1": discoveryv1.AddressTypeIPv4, "2001:db8::1": discoveryv1.AddressTypeIPv6} {
				c.create(&discoveryv1.EndpointSlice{
					ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: "web-" + strings.ToLower(string(of)), Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
					AddressType: of, Ports: []discoveryv1.EndpointPort{{Port: new(int32(8080))}},
					Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: pod.Name},
						Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
				})
			}
			c.Book.Bind(t.Context(), bound.Key, Bound{TargetGroup: lb.TargetGroup{ID: bound.ID, Service: "shop/web", Port: "80",
				TargetType: v1alpha1.TargetTypeIP, Family: family}})
			c.reconcile(family, false, want)
		})
	}
}
