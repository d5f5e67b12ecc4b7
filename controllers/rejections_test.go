package controllers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/kube"
)

// This file has a cloud refuse what others may make room for, and what nothing can be left out for.

// noRoom has the cloud refuse steps for want of room, in words that are other ones each time.
func (w *world) noRoom(to string, request int) {
	w.cloud.no.Store(&refusal{to, fmt.Errorf("nothing is left (request %d): %w", request, providers.ErrNoRoom)})
}

// ofTwo is the name of the report on the group "two".
func (w *world) ofTwo() string {
	return v1alpha1.Name(strings.Join([]string{w.class, w.namespace, "@two", v1alpha1.SchemeInternal}, "/"), w.namespace)
}

// rejections are all that the report on the group remembers.
func (w *world) rejections() []v1alpha1.Rejection {
	w.Helper()
	var out []v1alpha1.Rejection
	for _, m := range w.report(w.ofTwo()).Status.Memory.Members {
		out = append(out, m.Rejections...)
	}
	return out
}

// later has an operator begin ten minutes from now, as far as rejections know.
func (w *world) later() {
	w.Helper()
	w.stop()
	report := w.report(w.ofTwo())
	for _, m := range report.Status.Memory.Members {
		for i := range m.Rejections {
			if left := time.Until(m.Rejections[i].Until.Time); left < 9*time.Minute || left > 10*time.Minute {
				w.Errorf("it is tried again in %s", left)
			}
			m.Rejections[i].Until = &metav1.Time{Time: time.Now().Add(-time.Second)}
		}
	}
	if err := w.Status().Update(w.Context(), report); err != nil {
		w.Fatal(err)
	}
	w.run()
}

func TestWhatOthersMakeRoomForIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.noRoom("late.example", 1)
	w.join("two", w.ask("good", "good.example", "/", "web"), w.ask("late", "late.example", "/", "web"))
	w.answers("good", "http://good.example/", "web-1")
	w.told("late", "Rejected")
	w.calm()
	if n := w.cloud.refused.Load(); n != 1 {
		t.Errorf("the cloud was asked %d times", n)
	}

	w.noRoom("late.example", 2)
	w.later()
	w.eventually(func() error { return noError(w.cloud.refused.Load() == 2, "the cloud was not asked again") })
	w.calm()
	w.answers("good", "http://good.example/", "web-1")
	if n := w.cloud.refused.Load(); n != 2 {
		t.Errorf("the cloud was asked %d times", n)
	}
	if diff := cmp.Diff([]string{"Rejected"}, w.reasons("late")); diff != "" {
		t.Errorf("what is refused again is reported (-want +got):\n%s", diff)
	}

	w.cloud.no.Store(nil)
	w.later()
	w.answers("late", "http://late.example/", "web-1")
	w.eventually(func() error {
		return noError(len(w.rejections()) == 0, "what is served is remembered as refused: %v", w.rejections())
	})
}

// A change of what is served that finds no room leaves it served as it was, and is said once
// however often it is tried.
func TestAChangeThatFindsNoRoomIsSaidOnce(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.join("two", w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.noRoom("new.example", 1)
	w.change("shop", func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "new.example" })
	w.told("shop", "Rejected")
	w.calm()
	before := w.report(w.ofTwo()).Status
	w.noRoom("new.example", 2)
	w.later()
	w.eventually(func() error { return noError(w.cloud.refused.Load() == 2, "the cloud was not asked again") })
	w.calm()
	after := w.report(w.ofTwo()).Status
	if diff := cmp.Diff(before.Diagnostics, after.Diagnostics); diff != "" {
		t.Errorf("what is said has changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before.Conditions, after.Conditions); diff != "" {
		t.Errorf("the conditions have changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"LastGood", "Rejected"}, w.reasons("shop")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	w.answers("shop", "http://shop.example/", "web-1")

	w.cloud.no.Store(nil)
	w.later()
	w.answers("shop", "http://new.example/", "web-1")
}

// What all members need, and the cloud does not give, is said to each of them and held against
// none.
func TestALoadBalancerThatCannotBeMade(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.serve("web", "web-1")
	made := plan.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{}}
	made.LoadBalancer.Settings.Scheme = v1alpha1.SchemeInternal
	w.noRoom(made.Detail(), 1)
	w.run()
	w.join("two", w.ask("shop", "shop.example", "/", "web"), w.ask("blog", "blog.example", "/", "web"))
	w.told("shop", "Rejected")
	w.told("blog", "Rejected")
	w.calm()
	if refused := w.rejections(); len(refused) > 0 {
		t.Errorf("it is held against somebody: %v", refused)
	}
	w.noRoom(made.Detail(), 2)
	again := w.cloud.refused.Load()
	w.change("shop", func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "new.example" })
	w.eventually(func() error {
		return noError(w.cloud.refused.Load() > again, "the cloud is not asked again when somebody wants something else")
	})
	w.calm()
	for _, name := range []string{"shop", "blog"} {
		if diff := cmp.Diff([]string{"Rejected"}, w.reasons(name)); diff != "" {
			t.Errorf("%s is told (-want +got):\n%s", name, diff)
		}
	}
	w.remove("blog")

	w.cloud.no.Store(nil)
	w.change("shop", func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "shop.example" })
	w.answers("shop", "http://shop.example/", "web-1")
	w.eventually(func() error {
		said := w.report(w.ofTwo()).Status.Diagnostics
		return noError(len(said) == 0, "there is still something to say: %v", said)
	})
}

func TestACertificateThatTheCloudRefusesCostsNoPlainHTTP(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.noRoom("late.example from Secret", 1)
	good, late := w.ask("good", "good.example", "/", "web"), w.ask("late", "late.example", "/", "web")
	secured("good", "good.example")(good)
	secured("late", "late.example")(late)
	w.create(w.secret("good", "good.example"), w.secret("late", "late.example"))
	w.join("two", good, late)
	w.answers("good", "https://good.example/", "web-1")
	w.answers("late", "http://late.example/", "web-1")
	w.told("late", "CertificateRefused")
	w.eventually(func() error {
		problem := w.portError("late", 443)
		return noError(problem == "fairlead.dev/CertificateRefused", "port 443 has the error %q", problem)
	})
	if told := w.reasons("good"); len(told) > 0 {
		t.Errorf("the neighbour is told %v", told)
	}
	if said := w.notes("late")[0]; !strings.HasPrefix(said, "spec.tls[0].secretName: ") || !strings.Contains(said, "nothing is left") {
		t.Errorf("its owner is told %q", said)
	}

	w.noRoom("late.example from Secret", 2)
	w.later()
	w.eventually(func() error { return noError(w.cloud.refused.Load() == 2, "the cloud was not asked again") })
	w.calm()
	w.answers("late", "http://late.example/", "web-1")
	if told := w.reasons("late"); !slices.Equal(told, []string{"CertificateRefused"}) {
		t.Errorf("what is refused again is reported: %v", told)
	}

	w.cloud.no.Store(nil)
	w.later()
	w.answers("late", "https://late.example/", "web-1")
	w.answers("good", "https://good.example/", "web-1")
}

// A certificate that would take another one's place, and finds no room, leaves what is served over
// HTTPS as it was.
func TestANextCertificateThatIsRefusedLeavesHTTPSServed(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	first, second := w.secret("tls", "shop.example"), w.secret("second", "other.example")
	shop := w.ask("shop", "shop.example", "/", "web")
	secured("tls", "shop.example")(shop)
	w.create(first.DeepCopy(), second)
	w.join("two", shop)
	w.answers("shop", "https://shop.example/", "web-1")
	w.calm()
	ip := w.address("shop")
	w.noRoom("from Secret", 1)

	if err := w.Update(t.Context(), w.secret("tls", "other.example")); err != nil {
		t.Fatal(err)
	}
	w.told("shop", "CertificateRefused")
	w.calm()
	if err := w.shows(ip, first); err != nil {
		t.Error(err)
	}
	if err := w.Update(t.Context(), first.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() error {
		said := w.report(w.ofTwo()).Status.Diagnostics
		return noError(len(said) == 0, "there is still something to say: %v", said)
	})

	w.change("shop", func(i *networkingv1.Ingress) { i.Spec.TLS[0].SecretName = "second" })
	w.told("shop", "LastGood")
	w.calm()
	if err := w.shows(ip, first); err != nil {
		t.Error(err)
	}
}
