package controllers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/kube"
)

// This file is about load balancers that Ingresses move away from, leave behind, or only seem to.

func TestAMoveLeavesNoGap(t *testing.T) {
	cases := map[string]func(w *world) func(*networkingv1.Ingress){
		"to a group": func(*world) func(*networkingv1.Ingress) {
			return annotate("fairlead.dev/group", "all")
		},
		"to another scheme": func(*world) func(*networkingv1.Ingress) {
			return annotate("fairlead.dev/scheme", "internet-facing")
		},
		"to another name": func(*world) func(*networkingv1.Ingress) {
			return annotate("fairlead.dev/load-balancer-name", "shop-edge")
		},
		"to another class": func(w *world) func(*networkingv1.Ingress) {
			second := w.class + "-second"
			w.parameterize(second, &v1alpha1.LoadBalancerClassSpec{MoveGrace: &metav1.Duration{Duration: 3 * time.Second}})
			return func(i *networkingv1.Ingress) { i.Spec.IngressClassName = &second }
		},
	}
	for name, to := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{MoveGrace: &metav1.Duration{Duration: 3 * time.Second}})
			w.serve("web", "web-1")
			w.create(w.ask("shop", "shop.example", "/", "web"))
			w.answers("shop", "http://shop.example/", "web-1")
			w.calm()
			old := w.address("shop")
			edit := to(w)
			behind := w.load(func() error { return w.request(old, "http://shop.example/", "web-1") })

			w.change("shop", edit)
			w.eventually(func() error { return noError(w.address("shop") != old, "it still points to %s", old) })
			published, next := time.Now(), w.address("shop")
			ahead := w.load(func() error { return w.request(next, "http://shop.example/", "web-1") })
			time.Sleep(time.Until(published.Add(time.Second))) // the grace of clients that have yet to follow, as whole seconds count it
			behind()
			w.remains(1)
			ahead()
			w.answers("shop", "http://shop.example/", "web-1")
			w.remove("shop")
			w.gone()
		})
	}
}

func TestAMoveInTheMiddleOfAMoveLeavesNoGap(t *testing.T) {
	group := func(name string) func(*networkingv1.Ingress) { return annotate("fairlead.dev/group", name) }
	cases := map[string]struct {
		moves []func(*networkingv1.Ingress)
		are   int // load balancers that serve it in the end
	}{
		"on": {[]func(*networkingv1.Ingress){group("first"), group("second")}, 3},
		"back": {[]func(*networkingv1.Ingress){group("first"), func(i *networkingv1.Ingress) {
			delete(i.Annotations, "fairlead.dev/group")
		}}, 2},
		"on, and back from there": {[]func(*networkingv1.Ingress){group("first"), group("second"), group("first")}, 3},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{MoveGrace: &metav1.Duration{Duration: time.Hour}})
			w.serve("web", "web-1")
			w.create(w.ask("shop", "shop.example", "/", "web"))
			w.answers("shop", "http://shop.example/", "web-1")
			var ends []func() int
			for _, move := range c.moves {
				at := w.address("shop")
				ends = append(ends, w.load(func() error { return w.request(at, "http://shop.example/", "web-1") }))
				w.change("shop", move)
				w.eventually(func() error { return noError(w.address("shop") != at, "it still points to %s", at) })
			}
			w.answers("shop", "http://shop.example/", "web-1")
			w.calm()
			for _, end := range ends {
				end()
			}
			w.remains(c.are)

			parameters := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: w.class}}
			if err := w.Patch(w.Context(), parameters, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"moveGrace":"1s"}}`))); err != nil {
				t.Fatal(err)
			}
			w.remains(1)
			w.answers("shop", "http://shop.example/", "web-1")
			w.remove("shop")
			w.gone()
		})
	}
}

func TestAnIngressIsDeletedInTheMiddleOfAMove(t *testing.T) {
	w := newWorld(t)
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{MoveGrace: &metav1.Duration{Duration: time.Hour}})
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	old := w.address("shop")
	w.calm()
	w.change("shop", annotate("fairlead.dev/group", "all"))
	w.eventually(func() error { return noError(w.address("shop") != old, "it still points to %s", old) })
	w.remains(2)
	w.remove("shop")
	w.gone()
}

func TestAMoveOutlivesTheOperator(t *testing.T) {
	w := newWorld(t)
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{MoveGrace: &metav1.Duration{Duration: 5 * time.Second}})
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	old := w.address("shop")
	w.calm()
	w.change("shop", annotate("fairlead.dev/group", "all"))
	w.eventually(func() error { return noError(w.address("shop") != old, "it still points to %s", old) })
	w.stop()
	w.run()
	if err := w.request(old, "http://shop.example/", "web-1"); err != nil {
		t.Errorf("clients that have not followed yet: %s", err)
	}
	w.remains(1)
	w.answers("shop", "http://shop.example/", "web-1")
}

// outlived is where a load balancer is reached whose only Ingress is gone, and whose class has it
// stay all the same: it works, across a restart too, and nothing was written.
func (w *world) outlived(class *v1alpha1.LoadBalancerClassSpec) (at string) {
	w.Helper()
	w.parameterize(w.class, class)
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	at = w.address("shop")
	w.calm()
	writes := w.cloud.writes.Load()
	w.remove("shop")
	w.calm() // for longer than two looks for orphans
	w.stop()
	w.run()
	w.calm()
	if err := w.request(at, "http://shop.example/", "web-1"); err != nil {
		w.Errorf("it does not work any more: %s", err)
	}
	if n := w.cloud.writes.Load() - writes; n > 0 {
		w.Errorf("%d writes to leave something as it is", n)
	}
	return at
}

func TestALoadBalancerCanBeLeftWorking(t *testing.T) {
	w := newWorld(t)
	at := w.outlived(&v1alpha1.LoadBalancerClassSpec{DeletionPolicy: v1alpha1.DeletionPolicyRetain})
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	if again := w.address("shop"); again != at {
		t.Errorf("it is reached at %s, and was at %s", again, at)
	}
}

func TestALoadBalancerThatWasLeftWorkingGoesOnceItsClassLetsGo(t *testing.T) {
	for name, meanwhile := range map[string]func(*world){
		"while the operator works":     func(*world) {},
		"though the operator was away": func(w *world) { w.stop(); w.run() },
		"though what was remembered of it is lost": func(w *world) {
			w.stop()
			if err := w.Delete(w.Context(), w.balancer("shop")); err != nil {
				w.Fatal(err)
			}
			w.run()
			w.balancer("shop") // nobody asks for it, and it is no orphan
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{DeletionPolicy: v1alpha1.DeletionPolicyRetain})
			w.serve("web", "web-1")
			w.create(w.ask("shop", "shop.example", "/", "web"))
			w.answers("shop", "http://shop.example/", "web-1")
			at := w.address("shop")
			w.remove("shop")
			meanwhile(w)
			w.calm() // for longer than two looks for orphans
			if err := w.request(at, "http://shop.example/", "web-1"); err != nil {
				t.Errorf("it does not work any more: %s", err)
			}

			parameters := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: w.class}}
			if err := w.Patch(w.Context(), parameters, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"deletionPolicy":null}}`))); err != nil {
				t.Fatal(err)
			}
			w.gone()
		})
	}
}

func TestAProtectedLoadBalancerStaysUntilItsClassLetsGo(t *testing.T) {
	w := newWorld(t)
	w.outlived(&v1alpha1.LoadBalancerClassSpec{Attributes: map[string]string{"deletion_protection.enabled": "true"}})
	w.told("shop", "Protected")
	w.is("shop", v1alpha1.ConditionProgrammed, metav1.ConditionFalse, v1alpha1.ReasonProtected)

	parameters := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: w.class}}
	if err := w.Patch(w.Context(), parameters, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"attributes":null}}`))); err != nil {
		t.Fatal(err)
	}
	w.gone()
}

func TestAReadThatComesBackShortDeletesNothing(t *testing.T) {
	cases := map[string]func(*meter){
		"a look that fails": func(m *meter) {
			m.look.Store(new(func(*lb.Observed) (*lb.Observed, error) { return nil, errors.New("timeout") }))
		},
		"a look that sees nothing": func(m *meter) {
			m.look.Store(new(func(o *lb.Observed) (*lb.Observed, error) { return &lb.Observed{Key: o.Key}, nil }))
		},
		"a list that fails": func(m *meter) {
			m.list.Store(new(func([]lb.Key) ([]lb.Key, error) { return nil, errors.New("timeout") }))
		},
	}
	for name, blind := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.serve("web", "web-1")
			w.serve("api", "api-1")
			w.create(w.ask("shop", "shop.example", "/", "web"), w.ask("other", "other.example", "/", "web"))
			w.answers("shop", "http://shop.example/", "web-1")
			w.answers("other", "http://other.example/", "web-1")
			w.calm()
			shop, other := w.address("shop"), w.address("other")
			end := w.load(
				func() error { return w.request(shop, "http://shop.example/", "web-1") },
				func() error { return w.request(other, "http://other.example/", "") },
			)
			w.stop()
			blind(w.cloud)
			w.run()
			w.calm() // for longer than two looks for orphans
			w.cloud.look.Store(nil)
			w.cloud.list.Store(nil)
			w.change("other", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "api" })
			w.answers("other", "http://other.example/", "api-1")
			end()
			if w.address("shop") != shop || w.address("other") != other {
				t.Error("it has moved")
			}
		})
	}
}

func TestAnIngressThatOnlyTheCacheMissesIsNotGone(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.serve("web", "web-1")
	w.run()
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.calm()
	at := w.address("shop")
	end := w.load(func() error { return w.request(at, "http://shop.example/", "web-1") })
	writes := w.cloud.writes.Load()

	// An API server that lags behind lists what was there some time ago.
	w.stop()
	w.run(func(s *settings) {
		s.manager.NewCache = func(config *rest.Config, o cache.Options) (cache.Cache, error) {
			c, err := cache.New(config, o)
			return &lagging{c}, err
		}
	})
	w.calm()
	end()
	if n := w.cloud.writes.Load() - writes; n > 0 {
		t.Errorf("%d writes to the cloud", n)
	}
}

// A lagging cache has not heard of any Ingress.
type lagging struct{ cache.Cache }

func (l *lagging) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*networkingv1.Ingress); ok {
		return apierrors.NewNotFound(schema.GroupResource{Group: networkingv1.GroupName, Resource: "ingresses"}, key.Name)
	}
	return l.Cache.Get(ctx, key, o, opts...)
}

// remains waits until so many load balancers are in the cloud.
func (w *world) remains(n int) {
	w.Helper()
	w.eventually(func() error {
		keys, err := w.cloud.Cloud.List(w.Context())
		if err != nil {
			return err
		}
		return noError(len(keys) == n, "%v are there, want %d of them", keys, n)
	})
}
