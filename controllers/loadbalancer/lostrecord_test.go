package loadbalancer

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
)

// This file tests that a load balancer whose LoadBalancer is gone is not changed, as it may have
// been paused.

func TestALoadBalancerWithoutItsRecordIsOnlyPlanned(t *testing.T) {
	gone := map[string]func(*bench){
		"while the operator runs": func(b *bench) { b.loseRecord() },
		"before it starts": func(b *bench) {
			b.loseRecord()
			b.succeed()
			b.Grace = time.Hour
			b.place()
		},
	}
	ends := map[string]func(*bench){
		"it is confirmed":   func(b *bench) { b.confirm(time.Now()) },
		"the grace is over": func(b *bench) { b.Grace = time.Nanosecond },
	}
	for when, lose := range gone {
		for how, end := range ends {
			t.Run(when+", until "+how, func(t *testing.T) {
				b := newBench(t, ask("shop.example"), service())
				b.Grace = time.Hour
				b.place()
				b.settle()
				rules := b.rules()
				lose(b)
				b.change()
				for range 3 {
					b.reconciles()
				}
				b.says(v1alpha1.ConditionProgrammed, v1alpha1.ReasonRecordLost)
				if n := b.rules(); n != rules {
					t.Errorf("there are %d rules, and %d before", n, rules)
				}
				b.confirm(time.Now().Add(-time.Hour)) // of an accident before
				b.reconciles()
				b.says(v1alpha1.ConditionProgrammed, v1alpha1.ReasonRecordLost)

				end(b)
				b.reconciles()
				b.reconciles()
				b.says(v1alpha1.ConditionProgrammed, v1alpha1.ReasonProgrammed)
				if n := b.rules(); n == rules {
					t.Error("nothing is changed afterwards")
				}
			})
		}
	}
}

// A load balancer that is new, or of which a plan was cut off, is no one of which the record was
// lost.
func TestANewLoadBalancerHasNotLostItsRecord(t *testing.T) {
	b := newBench(t, ask("shop.example"), service())
	b.Grace = time.Hour
	b.place()
	if err := b.addFinalizers(b.Context(), b.gathered()); err != nil {
		t.Fatal(err)
	}
	if err := b.Memories.Keeper.Claim(b.Context(), benchKey); err != nil {
		t.Fatal(err)
	}
	other := newBench(t, ask("shop.example"), service()) // which makes what this one's cloud gets
	other.place()
	other.settle()
	b.cloud = other.cloud
	b.succeed() // after a plan that was cut off
	b.Grace = time.Hour
	b.place()
	b.change()
	for range 3 {
		b.reconciles()
	}
	b.says(v1alpha1.ConditionProgrammed, v1alpha1.ReasonProgrammed)
	if n := b.rules(); n == 1 {
		t.Error("nothing is changed")
	}
}

func (b *bench) gathered() *gather.Snapshot {
	b.Helper()
	g, err := b.Gather(b.Context(), benchKey)
	if err != nil {
		b.Fatal(err)
	}
	return g
}

// change has the Ingress ask for more.
func (b *bench) change() {
	b.Helper()
	ing := b.ingress()
	ing.Spec.Rules = append(ing.Spec.Rules, ask("www.example").Spec.Rules...)
	ing.Spec.Rules[len(ing.Spec.Rules)-1].HTTP.Paths[0].Path = "/www"
	if err := b.Update(b.Context(), ing); err != nil {
		b.Fatal(err)
	}
}

// loseRecord deletes the LoadBalancer, and has its watch tell.
func (b *bench) loseRecord() {
	b.Helper()
	report := &v1alpha1.LoadBalancer{}
	if err := b.Get(b.Context(), client.ObjectKey{Name: v1alpha1.Name(string(benchKey), "")}, report); err != nil {
		b.Fatal(err)
	}
	if err := b.Delete(b.Context(), report); err != nil {
		b.Fatal(err)
	}
	report.ResourceVersion = "later"
	b.Memories.Keeper.KeyOfChanged(report)
}

// confirm annotates the LoadBalancer.
func (b *bench) confirm(at time.Time) {
	b.Helper()
	report := &v1alpha1.LoadBalancer{}
	if err := b.Get(b.Context(), client.ObjectKey{Name: v1alpha1.Name(string(benchKey), "")}, report); err != nil {
		b.Fatal(err)
	}
	report.Annotations = map[string]string{v1alpha1.ConfirmVanishedAnnotation: at.UTC().Add(time.Second).Format(time.RFC3339)}
	if err := b.Update(b.Context(), report); err != nil {
		b.Fatal(err)
	}
	b.Memories.Keeper.KeyOfChanged(report)
}
