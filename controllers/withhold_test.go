package controllers_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/kube"
)

// This file tests plans that are reported and not carried out, and the reports themselves.

func TestAPauseFreezesTheConfigurationAndNoPods(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.serve("api", "api-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.programmed("shop", v1alpha1.ReasonProgrammed)

	w.annotate("shop", v1alpha1.PausedAnnotation, "true")
	w.change("shop", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "api" })
	said := w.programmed("shop", v1alpha1.ReasonPaused)
	if said.LastPlan == nil || said.LastPlan.Done != 0 || len(said.LastPlan.Steps) == 0 {
		t.Errorf("the plan that waits is %+v", said.LastPlan)
	}
	w.calm()
	w.answers("shop", "http://shop.example/", "web-1")

	w.create(w.pod("web", "web-2"))
	w.answers("shop", "http://shop.example/", "web-2")

	w.stop()
	w.run()
	w.calm()
	w.answers("shop", "http://shop.example/", "web-")
	if diff := cmp.Diff(said.LastPlan, w.balancer("shop").Status.LastPlan); diff != "" {
		t.Errorf("another operator plans otherwise: %s", diff)
	}

	w.annotate("shop", v1alpha1.PausedAnnotation, "")
	w.answers("shop", "http://shop.example/", "api-1")
	w.programmed("shop", v1alpha1.ReasonProgrammed)
}

func TestAPauseHoldsADeletionBack(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.programmed("shop", v1alpha1.ReasonProgrammed)
	ip := w.ingress("shop").Status.LoadBalancer.Ingress[0].IP

	w.annotate("shop", v1alpha1.PausedAnnotation, "true")
	if err := w.Delete(t.Context(), w.ingress("shop")); err != nil {
		t.Fatal(err)
	}
	w.programmed("shop", v1alpha1.ReasonPaused)
	w.calm()
	if err := w.request(ip, "http://shop.example/", "web-1"); err != nil {
		t.Error(err)
	}
	w.annotate("shop", v1alpha1.PausedAnnotation, "")
	w.gone()
}

// The annotation of a LoadBalancer goes with that object, as in `kubectl delete lb --all`. What the
// class or the setting says stays.
func TestAPauseOutlivesTheReport(t *testing.T) {
	pauses := map[string]struct{ pause, lift func(*world) }{
		"the class": {
			func(w *world) { w.annotateClass(v1alpha1.PausedAnnotation, "true") },
			func(w *world) { w.annotateClass(v1alpha1.PausedAnnotation, "") },
		},
		"the setting": {
			func(w *world) {
				w.stop()
				w.run(func(s *settings) {
					s.operator.Paused = []string{"another/key/of/internal", w.balancer("shop").Spec.Key}
				})
			},
			func(w *world) {
				w.stop()
				w.run()
			},
		},
	}
	for name, c := range pauses {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.serve("web", "web-1")
			w.serve("api", "api-1")
			w.create(w.ask("shop", "shop.example", "/", "web"))
			w.answers("shop", "http://shop.example/", "web-1")
			w.programmed("shop", v1alpha1.ReasonProgrammed)

			c.pause(w)
			w.change("shop", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "api" })
			w.programmed("shop", v1alpha1.ReasonPaused)
			writes, before := w.cloud.writes.Load(), w.balancer("shop")
			if err := w.Delete(w.Context(), before); err != nil {
				t.Fatal(err)
			}
			w.eventually(func() error { return noError(w.balancer("shop").UID != before.UID, "the report is not written again") })
			w.programmed("shop", v1alpha1.ReasonPaused)
			w.calm()
			if n := w.cloud.writes.Load() - writes; n > 0 {
				t.Errorf("%d writes to the cloud under a pause", n)
			}

			c.lift(w)
			w.answers("shop", "http://shop.example/", "api-1")
		})
	}
}

// annotateClass sets an annotation of the IngressClass, or takes it away.
func (w *world) annotateClass(name, value string) {
	w.Helper()
	class := &networkingv1.IngressClass{}
	if err := w.Get(w.Context(), client.ObjectKey{Name: w.class}, class); err != nil {
		w.Fatal(err)
	}
	before := class.DeepCopy()
	if class.Annotations = map[string]string{name: value}; value == "" {
		class.Annotations = nil
	}
	if err := w.Patch(w.Context(), class, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

func TestAReportIsWrittenAgain(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.programmed("shop", v1alpha1.ReasonProgrammed)
	w.calm()
	before, writes := w.balancer("shop"), w.cloud.writes.Load()

	edited := before.DeepCopy()
	edited.Status.Address, edited.Status.Memory = "elsewhere.example", v1alpha1.Memory{}
	if err := w.Status().Update(t.Context(), edited); err != nil {
		t.Fatal(err)
	}
	w.says("shop", before.Status)
	if err := w.Delete(t.Context(), w.balancer("shop")); err != nil {
		t.Fatal(err)
	}
	w.says("shop", before.Status)
	if n := w.cloud.writes.Load() - writes; n > 0 {
		t.Errorf("%d writes to the cloud, where nothing had changed", n)
	}
}

// says waits until the report on an Ingress's load balancer is what it was.
func (w *world) says(ingress string, want v1alpha1.LoadBalancerStatus) {
	w.Helper()
	w.eventually(func() error {
		said := &v1alpha1.LoadBalancer{}
		if err := w.Get(w.Context(), client.ObjectKey{Name: w.reportName(ingress)}, said); err != nil {
			return err
		}
		diff := cmp.Diff(want, said.Status)
		return noError(diff == "", "the report is not what it was: %s", diff)
	})
}

// programmed waits until the report gives a reason for its condition Programmed.
func (w *world) programmed(ingress, reason string) (said v1alpha1.LoadBalancerStatus) {
	w.Helper()
	w.eventually(func() error {
		said = w.balancer(ingress).Status
		c := meta.FindStatusCondition(said.Conditions, v1alpha1.ConditionProgrammed)
		return noError(c != nil && c.Reason == reason, "the conditions are %+v, want the reason %s", said.Conditions, reason)
	})
	return said
}

// annotate sets an annotation of an Ingress's LoadBalancer, or takes it away.
func (w *world) annotate(ingress, name, value string) {
	w.Helper()
	o := w.balancer(ingress)
	before := o.DeepCopy()
	if o.Annotations = map[string]string{name: value}; value == "" {
		o.Annotations = nil
	}
	if err := w.Patch(w.Context(), o, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

func TestReadOnlyWritesNothingButReports(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	bad := w.ask("bad", "bad.example", "/", "web")
	bad.Annotations["fairlead.dev/health-check-path"] = "not a path"
	w.create(bad)
	shop := w.ingress("shop")

	readOnly := func(s *settings) { s.operator.ReadOnly = true }
	w.run(readOnly)
	name := w.reportName("shop") + ".read-only"
	report := &v1alpha1.LoadBalancer{}
	w.eventually(func() error {
		if err := w.Get(t.Context(), client.ObjectKey{Name: name}, report); err != nil {
			return err
		}
		c := meta.FindStatusCondition(report.Status.Conditions, v1alpha1.ConditionProgrammed)
		return noError(c != nil && c.Reason == v1alpha1.ReasonReadOnly && report.Status.LastPlan != nil, "the report says %+v", report.Status)
	})
	w.calm()
	w.stop()
	w.run(readOnly)
	w.calm()
	if diff := cmp.Diff(report.ResourceVersion, w.report(name).ResourceVersion); diff != "" {
		t.Errorf("a report that did not change was written again: %s", diff)
	}
	if n := w.cloud.writes.Load(); n > 0 {
		t.Errorf("%d writes to the cloud", n)
	}
	if diff := cmp.Diff(shop, w.ingress("shop")); diff != "" {
		t.Errorf("the Ingress was written: %s", diff)
	}
	if reasons := slices.Concat(w.reasons("shop"), w.reasons("bad")); len(reasons) > 0 {
		t.Errorf("there are events: %v", reasons)
	}

	w.stop()
	w.run()
	w.answers("shop", "http://shop.example/", "web-1")
	w.eventually(func() error {
		err := w.Get(t.Context(), client.ObjectKey{Name: name}, &v1alpha1.LoadBalancer{})
		return noError(apierrors.IsNotFound(err), "what was only planned is still reported: %v", err)
	})

	// Beside the one that does what it plans, and after a change that one does not see.
	w.programmed("shop", v1alpha1.ReasonProgrammed)
	w.stop()
	served := w.report(w.reportName("shop"))
	w.change("shop", func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "other.example" })
	w.run(readOnly)
	w.eventually(func() error {
		if err := w.Get(t.Context(), client.ObjectKey{Name: name}, report); err != nil {
			return err
		}
		return noError(report.Status.LastPlan != nil, "there is no plan yet")
	})
	if diff := cmp.Diff(served, w.report(served.Name)); diff != "" {
		t.Errorf("the report of the other one was written: %s", diff)
	}
	if len(report.Status.Memory.Members) > 0 {
		t.Errorf("it remembers what never happened: %+v", report.Status.Memory)
	}
}

func TestReadOnlyRemembersWhatTheOneBesideItDoes(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.serve("web", "web-1")
	w.run()
	stop := w.stop
	w.create(w.ask("early", "early.example", "/", "web")) // so that the other one has begun
	w.programmed("early", v1alpha1.ReasonProgrammed)
	w.run(func(s *settings) { s.operator.ReadOnly = true })
	defer stop()
	planned := func(ingress string, is func(*v1alpha1.LoadBalancer) bool) {
		t.Helper()
		w.eventually(func() error {
			report := &v1alpha1.LoadBalancer{}
			if err := w.Get(t.Context(), client.ObjectKey{Name: w.reportName(ingress) + ".read-only"}, report); err != nil {
				return err
			}
			return noError(is(report), "the report says %+v", report.Status)
		})
	}
	programmed := func(b *v1alpha1.LoadBalancer) bool {
		return meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionProgrammed)
	}
	planned("early", programmed)

	// It is served, and remembered, only after the one that plans has begun.
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	planned("shop", programmed)
	w.change("shop", annotate("fairlead.dev/health-check-path", "not a path"))
	w.told("shop", "LastGood")
	planned("shop", func(b *v1alpha1.LoadBalancer) bool {
		return programmed(b) && slices.ContainsFunc(b.Status.Diagnostics, func(d v1alpha1.Diagnostic) bool { return d.Reason == "LastGood" })
	})
	w.calm()
	planned("shop", programmed)

	w.remove("shop")
	w.eventually(func() error {
		err := w.Get(t.Context(), client.ObjectKey{Name: w.reportName("shop") + ".read-only"}, &v1alpha1.LoadBalancer{})
		return noError(apierrors.IsNotFound(err), "what is no more is still planned: %v", err)
	})
}
