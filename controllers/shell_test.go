package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/kube"
)

// This file tests what the operator does about other writers, other clouds and its own end.

func TestWhatSomebodyElseChangesOnAnIngressIsWrittenAgain(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.programmed("shop", v1alpha1.ReasonProgrammed)
	w.calm()
	before := w.ingress("shop")

	edited := before.DeepCopy()
	edited.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: "elsewhere.example"}}
	if err := w.Status().Update(t.Context(), edited); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() error {
		diff := cmp.Diff(before.Status, w.ingress("shop").Status)
		return noError(diff == "", "the status is not what it was: %s", diff)
	})
	w.change("shop", func(i *networkingv1.Ingress) { i.Finalizers = nil })
	w.eventually(func() error {
		got := w.ingress("shop").Finalizers
		return noError(slices.Equal(got, before.Finalizers), "the finalizers are %v", got)
	})

	w.calm()
	writes := w.gate.writes.Load()
	w.change("shop", func(i *networkingv1.Ingress) { i.Labels = map[string]string{"team": "shop"} })
	w.calm()
	if n := w.gate.writes.Load() - writes; n > 0 {
		t.Errorf("%d writes, where nothing of ours had changed", n)
	}
}

// capable is a cloud that can do more than it could.
type capable struct{ providers.Provider }

func (c capable) Capabilities(class lb.Class) lb.Capabilities {
	caps := c.Provider.Capabilities(class)
	caps.Rules = 1000
	return caps
}

func TestWhatWasRejectedIsTriedAgainByACloudThatCanDoMore(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.cloud.no.Store(&refusal{"shop.example", fmt.Errorf("%w: too many of these", providers.ErrRejected)})
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.told("shop", "Rejected")
	w.calm()
	w.cloud.no.Store(nil)

	w.stop()
	w.run()
	w.calm()
	if entries := w.ingress("shop").Status.LoadBalancer.Ingress; len(entries) > 0 {
		t.Errorf("it was tried again though nothing had changed: %v", entries)
	}
	if got := w.reasons("shop"); len(got) != 1 {
		t.Errorf("an event was repeated: %v", got)
	}
	w.stop()
	w.run(func(s *settings) { s.operator.Cloud = capable{w.cloud} })
	w.answers("shop", "http://shop.example/", "web-1")
}

func TestEventsAboutIngressesThatAreServedNowhereAreNotRepeated(t *testing.T) {
	w := newWorld(t)
	bad := w.ask("bad", "bad.example", "/", "web")
	bad.Annotations["fairlead.dev/health-check-path"] = "not a path"
	missing := w.ask("missing", "missing.example", "/", "web")
	class := w.class + "-missing"
	missing.Spec.IngressClassName = &class
	w.create(bad, missing)
	w.told("bad", "AnnotationInvalid")
	w.told("missing", "ClassMissing")
	before := slices.Concat(w.reasons("bad"), w.reasons("missing"))

	w.stop()
	writes := w.gate.writes.Load()
	w.run()
	other := w.ask("other", "other.example", "/", "web") // whose event comes after theirs would
	other.Annotations["fairlead.dev/health-check-path"] = "not a path"
	w.create(other)
	w.told("other", "AnnotationInvalid")
	w.calm()
	if diff := cmp.Diff(before, slices.Concat(w.reasons("bad"), w.reasons("missing"))); diff != "" {
		t.Errorf("events were repeated: %s", diff)
	}
	if n := w.gate.writes.Load() - writes; n != 1 {
		t.Errorf("%d writes after a restart, want that of the new event alone", n)
	}
}

func TestTheReportKnowsWhetherAServiceHasEndpoints(t *testing.T) {
	w := newWorld(t)
	w.serve("web")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	reports := func(want bool) {
		t.Helper()
		w.eventually(func() error {
			said := w.balancer("shop").Status.Diagnostics
			has := slices.ContainsFunc(said, func(d v1alpha1.Diagnostic) bool { return d.Reason == "NoEndpoints" })
			return noError(has == want, "the diagnostics are %v", said)
		})
	}
	reports(true)
	w.create(w.pod("web", "web-1"))
	w.answers("shop", "http://shop.example/", "web-1")
	reports(false)
	if err := w.DeleteAllOf(t.Context(), &discoveryv1.EndpointSlice{}, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	reports(true)
}

// held is a cloud whose first step takes until it is let go on.
type held struct {
	providers.Provider
	begun, goOn chan struct{}
}

func (h held) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	select {
	case <-h.goOn:
	default:
		h.begun <- struct{}{}
		<-h.goOn
	}
	if ctx.Err() != nil {
		return plan.Result{}, fmt.Errorf("half way: %w", context.Cause(ctx))
	}
	return h.Provider.Apply(ctx, seen, step)
}

func TestAnOperatorThatIsStoppedFinishesTheStepUnderWay(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	cloud := held{w.cloud, make(chan struct{}, 100), make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := w.start(ctx, func(s *settings) {
		s.operator.Cloud = cloud
		s.manager.LeaderElection, s.manager.LeaderElectionReleaseOnCancel = true, true
		s.manager.LeaderElectionID, s.manager.LeaderElectionNamespace = "fairlead", w.namespace
	})
	<-cloud.begun
	stop()
	select {
	case err := <-ended:
		t.Fatalf("it ended in the middle of a step: %v", err)
	case <-time.After(300 * time.Millisecond): // word has got around
	}
	close(cloud.goOn)
	if err := <-ended; err != nil {
		t.Error(err)
	}

	said := w.balancer("shop").Status
	if said.LastPlan == nil || said.LastPlan.Done == 0 || int(said.LastPlan.Done) >= len(said.LastPlan.Steps) {
		t.Errorf("the report says of the plan: %+v", said.LastPlan)
	}
	w.programmed("shop", v1alpha1.ReasonProgramming)
	lease := &coordinationv1.Lease{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "fairlead"}, lease); err != nil {
		t.Fatal(err)
	}
	if who := lease.Spec.HolderIdentity; who != nil && *who != "" {
		t.Errorf("the lease is still held by %s", *who)
	}
	w.run()
	w.answers("shop", "http://shop.example/", "web-1")
}
