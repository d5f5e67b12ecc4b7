package loadbalancer

import (
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/plan"
)

// A plan is withheld for the first of several reasons. An empty one is withheld for none, and one
// that deletes much because an Ingress has departed needs no second reading.
func TestForWhatAPlanIsWithheld(t *testing.T) {
	seen, much := emptying(benchKey)
	little := plan.Plan{Key: benchKey, Steps: []plan.Planned{{Step: plan.CreateListener{}}}}
	lost := metav1.NewTime(time.Now())
	for name, c := range map[string]struct {
		plan                            plan.Plan
		readOnly, paused, lost, dispute bool
		departed, ofTargets             bool
		want                            string
	}{
		"nothing":                          {plan: little},
		"everything, of an empty plan":     {plan: plan.Plan{Key: benchKey}, readOnly: true, paused: true, lost: true, dispute: true},
		"it only reads":                    {plan: little, readOnly: true, paused: true, lost: true, dispute: true, want: v1alpha1.ReasonReadOnly},
		"a pause":                          {plan: little, paused: true, lost: true, dispute: true, want: v1alpha1.ReasonPaused},
		"a loss":                           {plan: little, lost: true, dispute: true, want: v1alpha1.ReasonRecordLost},
		"a dispute":                        {plan: little, dispute: true, want: v1alpha1.ReasonDisputed},
		"nothing, for disputed targets":    {plan: little, dispute: true, ofTargets: true},
		"a second reading":                 {plan: much, want: v1alpha1.ReasonUnconfirmed},
		"a pause, of one that is doubted":  {plan: much, paused: true, want: v1alpha1.ReasonPaused},
		"nothing, for an Ingress departed": {plan: much, departed: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{Parts: Parts{Gatherer: &gather.Gatherer{Grace: time.Hour}, ReadOnly: c.readOnly}}
			g := &gather.Snapshot{Snapshot: ingress.Snapshot{Key: benchKey}}
			o := outcome{Snapshot: g, Observed: seen, Plan: c.plan}
			if c.paused {
				g.PausedBy = "the IngressClass"
			}
			if c.lost {
				g.Record.Memory.LostAt = &lost
			}
			if c.dispute {
				o.Dispute = &queue.Dispute{OfTargets: c.ofTargets}
			}
			if c.departed {
				g.Departed = map[string]*networkingv1.Ingress{"shop/web": nil}
			}
			r.doubts.confirm(little) // at the last reconcile
			if got := r.withheld(o); got != c.want {
				t.Errorf("it is withheld for %q, want %q", got, c.want)
			}
			if r.doubts.isUnconfirmed(benchKey) != (c.want == v1alpha1.ReasonUnconfirmed) {
				t.Errorf("a doubt is kept: %t", r.doubts.isUnconfirmed(benchKey))
			}
		})
	}
}
