package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/kube"
)

// This file is about operators and API servers that come, go, and get into each other's way.

func TestARestartWritesNothing(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1", "web-2")
	w.create(w.secret("tls", "shop.example"), w.askSecurely("shop", "shop.example", "web"))
	w.create(w.ask("missing", "missing.example", "/", "nothing"))
	w.join("pair", w.ask("one", "one.example", "/", "web"), w.ask("two", "two.example", "/", "web"))
	w.answers("shop", "https://shop.example/", "web-")
	w.answers("two", "http://two.example/", "web-")
	w.told("missing", "ServiceMissing")
	w.calm()
	cloud, api := w.cloud.writes.Load(), w.gate.writes.Load()

	w.stop()
	w.run()
	observed := w.cloud.observed.Load()
	w.eventually(func() error { return noError(w.cloud.observed.Load() >= observed+3, "it does not look at all three") })
	w.calm()
	if n := w.cloud.writes.Load() - cloud; n > 0 {
		t.Errorf("%d writes to the cloud", n)
	}
	if n := w.gate.writes.Load() - api; n > 0 {
		t.Errorf("%d writes to the API server", n)
	}
}

func TestACloudThatCannotBeReadIsReported(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		blind  func(m *meter, err error)
		reason string
		err    error
	}{
		"questions are not answered": {
			blind:  func(m *meter, err error) { m.mute.Store(&err) },
			reason: v1alpha1.ReasonProviderDenied, err: fmt.Errorf("asking for certificates: %w", providers.ErrDenied),
		},
		"nobody can look": {
			blind: func(m *meter, err error) {
				m.look.Store(new(func(*lb.Observed) (*lb.Observed, error) { return nil, err }))
			},
			reason: v1alpha1.ReasonProviderFailed, err: errors.New("timeout"),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := emptyWorld(t, kube.Shared(t))
			c.blind(w.cloud, c.err)
			w.run()
			w.serve("web", "web-1")
			w.create(w.ask("shop", "shop.example", "/", "web"))
			w.eventually(func() error {
				is := w.balancer("shop").Status
				degraded := meta.FindStatusCondition(is.Conditions, v1alpha1.ConditionDegraded)
				return noError(degraded.Reason == c.reason && degraded.Status == metav1.ConditionTrue && strings.Contains(is.LastError, c.err.Error()),
					"it is %+v after %q", degraded, is.LastError)
			})
			w.cloud.mute.Store(nil)
			w.cloud.look.Store(nil)
			w.change("shop", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = "/shop" })
			w.answers("shop", "http://shop.example/shop", "web-1")
			w.eventually(func() error {
				is := w.balancer("shop").Status
				return noError(is.LastError == "" && meta.IsStatusConditionFalse(is.Conditions, v1alpha1.ConditionDegraded), "it is still %+v", is.Conditions)
			})
		})
	}
}

func TestWhoeverChangesAnObjectFirstIsNoTrouble(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.serve("api", "api-1")
	busy, rest := context.WithCancel(t.Context())
	rested := make(chan int)
	w.gate.conflicts.Store(5)
	w.create(w.ask("shop", "shop.example", "/", "web"))
	go func() { // another client updates the Ingress forty times a second
		n := 0
		for ; busy.Err() == nil; time.Sleep(25 * time.Millisecond) {
			ing := &networkingv1.Ingress{}
			if w.Get(busy, client.ObjectKey{Namespace: w.namespace, Name: "shop"}, ing) != nil {
				continue
			}
			ing.Labels = map[string]string{"example.com/at": time.Now().Format("150405.000000000")}
			if w.Update(busy, ing) == nil {
				n++
			}
		}
		rested <- n
	}()
	w.answers("shop", "http://shop.example/", "web-1")
	w.gate.conflicts.Store(5)
	w.eventually(func() error { // we meet conflicts ourselves
		ing := w.ingress("shop")
		ing.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "api"
		return w.Update(t.Context(), ing)
	})
	w.answers("shop", "http://shop.example/", "api-1")
	w.gate.conflicts.Store(5)
	w.remove("shop")
	w.gone()
	rest()
	if n := <-rested; n < 20 {
		t.Errorf("somebody else has changed the Ingress only %d times", n)
	}
	if told := w.reasons("shop"); len(told) > 0 {
		t.Errorf("its author is told %v", told)
	}
}

// elects lets one operator of several work. A lease is as short as it can be.
func elects(w *world) func(*settings) {
	lease, renew, retry := 3*time.Second, 2*time.Second, 500*time.Millisecond
	return func(s *settings) {
		s.manager.LeaderElection, s.manager.LeaderElectionID, s.manager.LeaderElectionNamespace = true, "fairlead", w.namespace
		s.manager.LeaseDuration, s.manager.RenewDeadline, s.manager.RetryPeriod = &lease, &renew, &retry
		s.manager.LeaderElectionReleaseOnCancel = true
	}
}

func TestTheSecondReplicaTakesOver(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.serve("web", "web-1")
	first, leave := context.WithCancel(t.Context())
	left := w.start(first, elects(w))
	w.create(w.ask("shop", "shop.example", "/", "web"), w.ask("missing", "missing.example", "/", "nothing"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.told("missing", "ServiceMissing")
	w.calm()
	w.run(elects(w))
	w.calm()
	before, cloud, told := w.versions(), w.cloud.writes.Load(), w.reasons("missing")

	looks := w.cloud.observed.Load()
	leave()
	if err := <-left; err != nil {
		t.Errorf("the first replica ends with %s", err)
	}
	w.eventually(func() error { return noError(w.cloud.observed.Load() >= looks+2, "the second replica does not look") })
	w.calm()
	if n := w.cloud.writes.Load() - cloud; n > 0 {
		t.Errorf("%d writes to the cloud", n)
	}
	if diff := cmp.Diff(before, w.versions()); diff != "" {
		t.Errorf("the second replica writes what the first has written (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(told, w.reasons("missing")); diff != "" {
		t.Errorf("events are repeated (-before +after):\n%s", diff)
	}
	w.create(w.ask("late", "late.example", "/", "web"))
	w.answers("late", "http://late.example/", "web-1")
}

// versions are those of all Ingresses, by name.
func (w *world) versions() map[string]string {
	w.Helper()
	var list networkingv1.IngressList
	if err := w.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	out := map[string]string{}
	for _, i := range list.Items {
		out[i.Name] = i.ResourceVersion
	}
	return out
}

func TestAnAPIServerThatIsAwayTakesNothingWithIt(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Start(t, kube.Options{}))
	w.serve("web", "web-1")
	w.serve("api", "api-1")
	working, stop := context.WithCancel(t.Context())
	defer stop()
	ended := w.start(working, elects(w))
	w.create(w.ask("shop", "shop.example", "/", "web"), w.ask("other", "other.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.answers("other", "http://other.example/", "web-1")
	w.calm()
	through := w.dials(w.address("shop"))
	through.DisableKeepAlives = true
	end := w.load(func() error { return w.get(through, "http://shop.example/", "web-1") })
	cloud := w.cloud.writes.Load()

	// Longer than the lease: an operator that cannot renew it stops.
	w.cluster.StopServer()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the operator ends as if it had been told to")
		}
	case <-time.After(time.Minute):
		t.Fatal("the operator works on without its lease")
	}
	w.calm()
	w.cluster.StartServer(t)
	w.run()
	w.answers("other", "http://other.example/", "web-1")
	w.calm()
	if n := w.cloud.writes.Load() - cloud; n > 0 {
		t.Errorf("%d writes to the cloud because of an API server that was away", n)
	}
	end()
	w.change("shop", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "api" })
	w.answers("shop", "http://shop.example/", "api-1")

	// For a moment: nobody notices, and changes are seen again.
	w.cluster.StopServer()
	w.cluster.StartServer(t)
	w.change("shop", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "web" })
	w.answers("shop", "http://shop.example/", "web-1")
	w.remove("other")
	w.answers("shop", "http://shop.example/", "web-1")
}
