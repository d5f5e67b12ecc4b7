package controllers_test

import (
	"slices"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/providers"
)

func TestASickBackendTakesOverOnceItWasWaitedFor(t *testing.T) {
	const limit = 3 * time.Second
	w := newWorld(t)
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{WarmTimeout: &metav1.Duration{Duration: limit}})
	w.serve("web", "web-1")
	w.serve("sick")
	sick := w.pod("sick", "sick-1")
	sick.Ports[0].Port = new(int32(1024)) // where nothing listens
	w.create(sick, w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")

	changed := time.Now()
	w.change("shop", sendTo("sick"))
	w.answers("shop", "http://shop.example/", "502")
	if waited := time.Since(changed); waited < limit {
		t.Errorf("it took over after %s, want %s", waited, limit)
	}
}

// A plan that waits, and a load balancer that is being set up, are as they were seen: nobody looks
// at all of it again.
func TestWhatOnlyTakesTimeIsNotLookedAtAgain(t *testing.T) {
	w := newWorld(t)
	w.cloud.inactive.Store(2)
	w.serve("web", "web-1")
	w.serve("next", "next-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	if n := w.cloud.inactive.Load(); n != 0 {
		t.Errorf("it is asked %d times more or less than it takes whether it is active", n)
	}
	w.cloud.no.Store(&refusal{"until a target is healthy", providers.ErrPending})
	w.change("shop", sendTo("next"))
	w.eventually(func() error {
		return noError(w.cloud.refused.Load() > 1, "nothing is waited for")
	})
	w.cloud.no.Store(nil)
	w.answers("shop", "http://shop.example/", "next-1")
	if n := w.cloud.observed.Load(); n != 1 {
		t.Errorf("the load balancer is observed %d times, want once", n)
	}
}

// A cloud takes its time to let go of what nothing uses any more. Whoever joins meanwhile is
// served, and told so.
func TestNobodyWaitsForWhatIsLeftOver(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.serve("next", "next-1")
	shop, late := w.ask("shop", "shop.example", "/", "web"), w.ask("late", "late.example", "/", "next")
	annotate("fairlead.dev/group", "all")(shop)
	annotate("fairlead.dev/group", "all")(late)
	w.create(shop)
	w.answers("shop", "http://shop.example/", "web-1")
	w.cloud.no.Store(&refusal{"delete target group", providers.ErrPending})
	w.change("shop", sendTo("next"))
	w.answers("shop", "http://shop.example/", "next-1")
	w.eventually(func() error { return noError(w.cloud.refused.Load() > 0, "nothing is left over") })

	w.create(late)
	w.answers("late", "http://late.example/", "next-1")
	w.eventually(func() error {
		known := w.balancer("@all").Status.Memory.Members
		return noError(!slices.ContainsFunc(known, func(m v1alpha1.MemberMemory) bool { return m.LastAccepted == nil }), "not all have a version to fall back to: %+v", known)
	})
}

func TestABackendWithoutPodsYetIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "pod-of-web")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "pod-of-web")
	at := w.address("shop")
	end := w.load(func() error { return w.request(at, "http://shop.example/", "pod-of-") })

	// What kubectl apply does with an Ingress, a Service and a Deployment, slowly.
	w.change("shop", sendTo("next"))
	w.waits("shop")
	w.serve("next")
	w.create(w.pod("next", "pod-of-next"))
	w.answers("shop", "http://shop.example/", "pod-of-next")
	end()
}

func TestADeletionDoesNotWaitForTheHealthOfNeighbours(t *testing.T) {
	w := newWorld(t)
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{WarmTimeout: &metav1.Duration{Duration: time.Hour}})
	w.serve("web", "web-1")
	slow, gone := w.ask("slow", "slow.example", "/", "web"), w.ask("gone", "gone.example", "/", "web")
	annotate("fairlead.dev/group", "all")(slow)
	annotate("fairlead.dev/group", "all")(gone)
	w.create(slow, gone)
	w.answers("slow", "http://slow.example/", "web-1")
	w.answers("gone", "http://gone.example/", "web-1")
	at := w.address("slow")
	w.change("slow", sendTo("without-pods"))
	w.waits("@all")
	w.remove("gone")
	if err := w.request(at, "http://slow.example/", "web-1"); err != nil {
		t.Error(err)
	}
	if err := w.request(at, "http://gone.example/", "404"); err != nil {
		t.Error(err)
	}
}

// waits waits until the load balancer of an Ingress, or of a group, waits for the cloud.
func (w *world) waits(whose string) {
	w.Helper()
	w.eventually(func() error {
		programmed := meta.FindStatusCondition(w.balancer(whose).Status.Conditions, v1alpha1.ConditionProgrammed)
		return noError(programmed.Reason == v1alpha1.ReasonPending, "it is %s: %s", programmed.Reason, programmed.Message)
	})
}

// sendTo sends the first path of an Ingress to a Service.
func sendTo(service string) func(*networkingv1.Ingress) {
	return func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = service }
}
