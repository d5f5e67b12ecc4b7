package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// This file tests what keeps a failure from doing harm: each of these was once taken out, and no
// other test failed.

// While a route may still be there, the Ingress that asked for it keeps our finalizer: with the
// object gone, nothing would say what is to be taken away.
func TestAnIngressIsHeldUntilItsRoutesAreGone(t *testing.T) {
	for name, failure := range map[string]error{"fails": errors.New("lost"), "has to be asked again": providers.ErrPending} {
		t.Run("the step "+name, func(t *testing.T) {
			b := newBench(t, ask("shop.example"), service())
			b.place()
			b.settle()
			if err := b.Delete(t.Context(), b.ingress()); err != nil {
				t.Fatal(err)
			}
			b.cloud.Refuses = func(s plan.Step) error {
				if removesRoute(s) {
					return failure
				}
				return nil
			}
			for range 3 {
				if _, err := b.reconcile(); !errors.Is(err, failure) {
					t.Errorf("the error is %v", err)
				}
				if ing := b.ingress(); ing == nil || !controllerutil.ContainsFinalizer(ing, v1alpha1.IngressFinalizer) {
					t.Fatalf("%d rules are there, and the Ingress was let go", b.rules())
				}
			}
			b.cloud.Refuses = nil
			if _, err := b.reconcile(); err != nil {
				t.Fatal(err)
			}
			if b.rules() > 0 || b.ingress() != nil {
				t.Errorf("%d rules are left, and the Ingress is %v", b.rules(), b.ingress())
			}
		})
	}
}

// A step that failed may be half done: what was seen before it is not believed any more. One that
// has to be asked again has changed nothing.
func TestAfterAFailedStepTheCloudIsLookedAtAnew(t *testing.T) {
	for name, c := range map[string]struct {
		failure error
		looks   int
	}{
		"it fails":                 {errors.New("lost"), 2},
		"it is refused":            {providers.ErrRejected, 2},
		"it has to be asked again": {providers.ErrPending, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, ask("shop.example"), service())
			b.place()
			b.cloud.Refuses = func(s plan.Step) error {
				if _, ok := s.(plan.CreateRule); ok {
					return c.failure
				}
				return nil
			}
			for range 2 {
				_, _ = b.reconcile()
			}
			if b.cloud.Observations != c.looks {
				t.Errorf("it is looked at %d times, want %d", b.cloud.Observations, c.looks)
			}
		})
	}
}

// A reconcile that ends before its plan has sent all steps leaves the observation as it is: the next one
// goes on from there.
func TestAfterAReconcileThatEndsTheCloudIsNotLookedAtAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, ask("shop.example"), service())
		b.Cloud = providers.LimitRate(b.cloud, 1.0/60, 1)
		b.place()
		for i := range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			_, err := b.Reconcile(ctx, benchKey)
			cancel()
			if err == nil {
				if i < 2 || b.cloud.Observations != 1 || b.rules() == 0 {
					t.Errorf("after %d reconciles, it was looked at %d times, and has %d rules", i, b.cloud.Observations, b.rules())
				}
				return
			}
		}
		t.Error("it is never programmed")
	})
}

// A plan that takes most of what is there, though no Ingress came, went or changed, waits until a
// second reading leads to the same.
func TestAPlanThatTakesMostWaitsForASecondReading(t *testing.T) {
	var hosts []string
	for i := range 25 {
		hosts = append(hosts, fmt.Sprintf("shop-%d.example", i))
	}
	ing := ask(hosts...)
	b := newBench(t)
	for i := range hosts { // rules are shared by the paths that lead to one Service
		s := service()
		s.Name = fmt.Sprintf("web-%d", i)
		b.create(s)
		ing.Spec.Rules[i].HTTP.Paths[0].Backend.Service.Name = s.Name
	}
	b.create(ing)
	b.place()
	b.settle()
	if n := b.rules(); n < 25 {
		t.Fatalf("there are %d rules", n)
	}
	report := &v1alpha1.LoadBalancer{}
	report.Name = v1alpha1.Name(string(benchKey), "")
	if err := b.Delete(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	b.succeed() // which has read no Ingress, and nothing of what was remembered

	result, err := b.reconcile()
	if err != nil {
		t.Fatal(err)
	}
	c := meta.FindStatusCondition(b.Records.Get(benchKey).Conditions, v1alpha1.ConditionProgrammed)
	if b.rules() < 25 || c == nil || c.Reason != v1alpha1.ReasonUnconfirmed || result.RequeueAfter != queue.AfterConflict {
		t.Errorf("after one reading %d rules are there, it says %+v, and comes back in %s", b.rules(), c, result.RequeueAfter)
	}
	for range 2 {
		if _, err := b.reconcile(); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.rules(); n > 0 {
		t.Errorf("after a second reading %d rules are there", n)
	}
}

// What another operator has written since is not written over: neither by what came of a plan nor
// by a plan that begins.
func TestARecordThatAnotherOperatorHasWrittenStays(t *testing.T) {
	for name, write := range map[string]func(*records.ObjectStore) error{
		"by a report": func(a *records.ObjectStore) error {
			return a.Save(t.Context(), benchKey, records.Record{Address: "ours"})
		},
		"by a plan that begins": func(a *records.ObjectStore) error { return a.Claim(t.Context(), benchKey) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			early, late := records.NewStore(b.Client, b.Client, ""), records.NewStore(b.Client, b.Client, "")
			early.InTerm("early", nil)
			late.InTerm("late", nil)
			if err := early.Save(t.Context(), benchKey, records.Record{Address: "first"}); err != nil {
				t.Fatal(err)
			}
			if _, err := late.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := late.Save(t.Context(), benchKey, records.Record{Address: "theirs"}); err != nil {
				t.Fatal(err)
			}
			if err := write(early); !apierrors.IsConflict(err) {
				t.Errorf("the error is %v, want a conflict", err)
			}
			records, err := records.NewStore(b.Client, b.Client, "").Load(t.Context())
			if got := records[benchKey]; err != nil || got.Address != "theirs" || got.Term == "early" {
				t.Errorf("the record is %+v, error %v", got, err)
			}
		})
	}
}

// An operator that was paused, and whose load balancer another one has deleted meanwhile, does not
// make the record again of what it remembers: the next leader would take the Ingress for one that
// has vanished, and serve it.
func TestARecordThatAnotherLeaderDeletedStaysDeleted(t *testing.T) {
	for name, late := range map[string]func(*bench, records.Record) error{
		"a record is written": func(b *bench, r records.Record) error { return b.Records.Save(b.Context(), benchKey, r) },
		"a plan begins":       func(b *bench, _ records.Record) error { return b.Records.Store.Claim(b.Context(), benchKey) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, ask("shop.example"), service())
			b.place()
			b.settle()
			paused, remembered := b.Reconciler, b.Records.Get(benchKey)
			paused.Records.Store.(*records.ObjectStore).InTerm("", func() error { return errors.New("the lease was last renewed 25s ago") })
			if len(remembered.Memory.Members) != 1 {
				t.Fatalf("it remembers %+v", remembered.Memory)
			}
			b.succeed()
			if err := b.Delete(t.Context(), &v1alpha1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Name(string(benchKey), "")}}); err != nil {
				t.Fatal(err)
			}
			b.Reconciler = paused
			remembered.LastError = "late"
			for range 3 { // the first finds that the record has changed, and the next ones read it again
				if err := late(b, remembered); err == nil {
					t.Error("it writes")
				}
			}
			records, err := records.NewStore(b.Client, b.Client, "").Load(t.Context())
			if err != nil || len(records) > 0 {
				t.Errorf("there are %+v, %v", records, err)
			}
		})
	}
}
