package loadbalancer

import (
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
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
	if err := b.Records.Store.Claim(b.Context(), benchKey); err != nil {
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

// The time of a loss is recorded once, only where a load balancer exists that this operator may
// change, and is dropped once the grace is over.
func TestWhenARecordWasLost(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(ago time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(-ago)} }
	full := records.Record{Address: "there", Term: "one", LastPlan: &v1alpha1.PlanStatus{}}
	for name, c := range map[string]struct {
		record   records.Record // with LostAt as before
		lost     *metav1.Time
		never    bool // the grace is 0
		readOnly bool
		absent   bool // the load balancer does not exist
		want     *metav1.Time
	}{
		"it is there":                   {record: full},
		"it is blank":                   {want: at(0)},
		"it has an address":             {record: records.Record{Address: "there"}},
		"it has a term":                 {record: records.Record{Term: "one"}},
		"it has a plan":                 {record: records.Record{LastPlan: &v1alpha1.PlanStatus{}}},
		"blank, without a grace":        {never: true},
		"blank, of one that only reads": {readOnly: true},
		"blank, and nothing exists":     {absent: true},
		"known, without a grace":        {lost: at(time.Minute), never: true},
		"known, and nothing exists":     {lost: at(time.Minute), absent: true},
		"known":                         {record: full, lost: at(time.Minute), want: at(time.Minute)},
		"known, and blank":              {lost: at(time.Minute), want: at(time.Minute)},
		"a moment before the end":       {record: full, lost: at(time.Hour - 1), want: at(time.Hour - 1)},
		"at the end":                    {record: full, lost: at(time.Hour)},
		"long ago":                      {record: full, lost: at(2 * time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.ReadOnly = c.readOnly
			if !c.never {
				b.Grace = time.Hour
			}
			g := &gather.Snapshot{Snapshot: ingress.Snapshot{Key: benchKey}, Record: c.record}
			g.Record.Memory.LostAt = c.lost
			if err := b.noteLostRecord(t.Context(), g, &lb.Observed{Key: benchKey, Exists: !c.absent}, now); err != nil {
				t.Fatal(err)
			}
			if got := g.Record.Memory.LostAt; !got.Equal(c.want) {
				t.Errorf("it was lost at %v, want %v", got, c.want)
			}
		})
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
	b.Records.Store.KeyOfChanged(report)
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
	b.Records.Store.KeyOfChanged(report)
}

// After a restart, a load balancer that is kept without an Ingress, and whose LoadBalancer is gone,
// does not count for the bound of its namespace. Authors of Ingresses cannot delete a LoadBalancer.
func TestOnlyThoseWhoDeleteRecordsExceedTheBound(t *testing.T) {
	b := newSharedBench(t, func(c *v1alpha1.LoadBalancerClassSpec) {
		c.DeletionPolicy, c.LoadBalancers.PerNamespace = v1alpha1.DeletionPolicyRetain, 1
	})
	asked := func(name string) int {
		ing := below(name+".example", "/")
		ing.Namespace, ing.Name = "bob", name
		b.put(ing)
		for range 3 {
			_, _ = b.Reconcile(t.Context(), lb.Key("fairlead/bob/"+name+"/internal"))
		}
		keys, err := b.cloud.Cloud.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(keys)
	}
	asked("one")
	b.remove("bob", "one", false)
	for range 3 {
		_, _ = b.Reconcile(t.Context(), "fairlead/bob/one/internal")
	}
	b.succeed()
	if n := asked("two"); n != 1 || b.find("bob", "one") != nil {
		t.Errorf("there are %d load balancers, want the one that was kept", n)
	}
	report := &v1alpha1.LoadBalancer{}
	report.Name = v1alpha1.Name("fairlead/bob/one/internal", "")
	if err := b.Delete(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	b.succeed()
	if n := asked("three"); n != 2 {
		t.Errorf("there are %d load balancers, want one more for the record that was deleted", n)
	}

	roles, err := os.ReadFile("../../config/rbac/people.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range strings.Split(string(roles), "- apiGroups:") {
		if strings.Contains(rule, "loadbalancers") && !strings.Contains(rule, "verbs: [get, list, watch]") {
			t.Errorf("people may change LoadBalancers: %s", rule)
		}
	}
}
