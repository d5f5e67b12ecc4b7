package loadbalancer

import (
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
)

// These tests have a planner that forgets the order of steps.

// unordered is a plan whose steps wait for nothing but what the cloud needs.
func unordered(p plan.Plan) plan.Plan {
	p.Steps = slices.Clone(p.Steps)
	for i := range p.Steps {
		p.Steps[i].After = slices.DeleteFunc(slices.Clone(p.Steps[i].After), func(a int) bool {
			_, rule := p.Steps[a].Step.(plan.CreateRule)
			return rule
		})
	}
	return p
}

// reversed is a plan that makes its rules in the wrong order, one after the other.
func reversed(p plan.Plan) plan.Plan {
	var rules, others []plan.Planned
	for _, s := range p.Steps {
		s.After = nil
		if _, rule := s.Step.(plan.CreateRule); rule {
			rules = append([]plan.Planned{s}, rules...)
		} else {
			others = append(others, s)
		}
	}
	p.Steps = slices.Concat(others, rules)
	for i := 1; i < len(p.Steps); i++ {
		p.Steps[i].After = []int{i - 1}
	}
	return p
}

// newUnsafeBench has one host served, and asks for another one with two paths, of which the one is
// a part of the other.
func newUnsafeBench(t *testing.T, change func(plan.Plan) plan.Plan) *bench {
	admin := service()
	admin.Name = "admin"
	b := newBench(t, ask("old.example"), service(), admin)
	b.place()
	b.settle()
	b.diff = func(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities) plan.Plan {
		return change(planner.Diff(seen, want, c))
	}
	ing := b.ingress()
	ing.Spec.Rules = append(ing.Spec.Rules, ask("new.example").Spec.Rules...)
	path := *ing.Spec.Rules[1].HTTP.Paths[0].DeepCopy()
	path.Path, path.Backend.Service.Name = "/admin", "admin"
	ing.Spec.Rules[1].HTTP.Paths = append(ing.Spec.Rules[1].HTTP.Paths, path)
	if err := b.Update(t.Context(), ing); err != nil {
		t.Fatal(err)
	}
	b.place()
	return b
}

// verdicts is how many plans of a verdict there were.
func (b *bench) verdicts(way string) int {
	b.Helper()
	var out dto.Metric
	if err := b.Metrics.Proofs.WithLabelValues(way).Write(&out); err != nil {
		b.Fatal(err)
	}
	return int(out.GetCounter().GetValue())
}

// defects is how many plans were not proven.
func (b *bench) defects() int {
	b.Helper()
	var out dto.Metric
	if err := b.Metrics.Defects.WithLabelValues(metrics.DefectUnprovenPlan).Write(&out); err != nil {
		b.Fatal(err)
	}
	return int(out.GetCounter().GetValue())
}

// events are the messages of the events of a reason.
func (b *bench) events(reason string) (out []string) {
	var list eventsv1.EventList
	if err := b.List(b.Context(), &list); err != nil {
		b.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Reason == reason {
			out = append(out, e.Note)
		}
	}
	return out
}

func TestAPlanThatIsNotProvenIsCarriedOutStepByStep(t *testing.T) {
	b := newUnsafeBench(t, unordered)
	rules := b.rules()
	b.settle()
	if n := b.rules(); n != rules+1 {
		t.Errorf("there are %d rules, and %d before", n, rules)
	}
	if b.verdicts(serialised) != 1 || b.verdicts(unproven) != 0 {
		t.Error("the metric does not say so")
	}
	b.says(v1alpha1.ConditionProgrammed, v1alpha1.ReasonProgrammed)
}

func TestAPlanThatIsNotProvenIsWithheld(t *testing.T) {
	b := newUnsafeBench(t, reversed)
	rules := b.rules()
	b.reconciles()
	b.says(v1alpha1.ConditionProgrammed, v1alpha1.ReasonPlanUnproven)
	b.says(v1alpha1.ConditionDegraded, v1alpha1.ReasonPlanUnproven)
	if n := b.rules(); n != rules {
		t.Errorf("there are %d rules, and %d before", n, rules)
	}
	if b.verdicts(unproven) != 1 {
		t.Error("the metric does not say so")
	}
	events := b.events(v1alpha1.ReasonPlanUnproven)
	if len(events) != 1 || !strings.Contains(events[0], "the plan is not carried out") ||
		!strings.Contains(events[0], "curl http://new.example/admin") {
		t.Errorf("the events are %q", events)
	}
	b.diff = planner.Diff // the operator is upgraded
	b.settle()
	b.says(v1alpha1.ConditionProgrammed, v1alpha1.ReasonProgrammed)
	b.says(v1alpha1.ConditionDegraded, v1alpha1.ReasonAsExpected)
}

func TestAClassCanHaveUnprovenPlansCarriedOut(t *testing.T) {
	b := newUnsafeBench(t, reversed)
	class := &networkingv1.IngressClass{}
	if err := b.Get(t.Context(), types.NamespacedName{Name: "fairlead"}, class); err != nil {
		t.Fatal(err)
	}
	class.Spec.Parameters = &networkingv1.IngressClassParametersReference{
		APIGroup: new(v1alpha1.GroupVersion.Group), Kind: "ClusterLoadBalancerClass", Name: "lenient"}
	if err := b.Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	b.create(&v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: "lenient"},
		Spec: v1alpha1.LoadBalancerClassSpec{UnprovenPlans: v1alpha1.UnprovenPlansCarryOut}})
	rules := b.rules()
	b.settle()
	if n := b.rules(); n != rules+1 {
		t.Errorf("there are %d rules, and %d before", n, rules)
	}
	if b.verdicts(accepted) != 1 || len(b.events(v1alpha1.ReasonPlanUnproven)) != 1 {
		t.Errorf("it is not told: %v", b.events(v1alpha1.ReasonPlanUnproven))
	}
}
