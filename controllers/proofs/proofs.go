// Package proofs says what becomes of a plan that is not proven: its steps are carried out one
// after the other, if that is proven, or the plan is withheld, unless the class says otherwise.
package proofs

import (
	"slices"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/proof"
	"fairlead.dev/fairlead/model/routing"
)

// The ways in which a plan is carried out, as the metric has them.
const (
	Proven     = "proven"
	Serialised = "serialised" // not proven, but its steps one after the other are
	Undecided  = "undecided"  // the check did not come to an end; it is carried out
	Accepted   = "accepted"   // not proven, and carried out because the class says so
	Unproven   = "unproven"   // withheld
)

// A Judgement is what is known of a plan.
type Judgement struct {
	Way     string // one of those above; "" for an empty plan
	verdict proof.Verdict
	plan    plan.Plan // for which that is the verdict
	want    lb.LoadBalancer
}

// Judge checks a plan, and returns the one to carry out.
func Judge(seen *lb.Observed, want lb.LoadBalancer, p plan.Plan, d lb.Dialect,
	class v1alpha1.LoadBalancerClassSpec) (plan.Plan, Judgement) {
	if p.Empty() {
		return p, Judgement{}
	}
	j := Judgement{Way: Proven, verdict: proof.Check(seen, want, p, d), plan: p, want: want}
	if j.verdict.Result == proof.Proven {
		return p, j
	}
	serial := proof.Serial(p)
	switch {
	case proof.Check(seen, want, serial, d).Result == proof.Proven:
		j.Way, p = Serialised, serial
	case j.verdict.Result == proof.Undecided:
		j.Way = Undecided
	case class.UnprovenPlans == v1alpha1.UnprovenPlansCarryOut:
		j.Way = Accepted
	default:
		j.Way = Unproven
	}
	return p, j
}

// Reason is the reason for which the plan is withheld; "" if it is not.
func (j Judgement) Reason() string {
	if j.Way == Unproven {
		return v1alpha1.ReasonPlanUnproven
	}
	return ""
}

// Message says what is wrong with the plan, and how to see it.
func (j Judgement) Message() string {
	said := "the plan is not proven: " + j.verdict.Why
	if r := j.verdict.Request; r != nil {
		said += "; such as " + j.Witness()
	}
	return printable.Line(said)
}

// Witness is a request that would get a wrong answer, as a command; "" if there is none.
func (j Judgement) Witness() string {
	if j.verdict.Request == nil {
		return ""
	}
	return compare.Written(SchemeOf(j.want, *j.verdict.Request), *j.verdict.Request).Curl()
}

// SchemeOf is the scheme of requests to a port.
func SchemeOf(want lb.LoadBalancer, r routing.Request) string {
	if slices.ContainsFunc(want.Listeners, func(l lb.Listener) bool {
		return l.Port == r.Port && l.Protocol == routing.HTTPS
	}) {
		return "https"
	}
	return "http"
}

// Steps are the steps of the plan, with their dependencies, for the log.
func (j Judgement) Steps() []map[string]any {
	var out []map[string]any
	for i, s := range j.plan.Steps {
		out = append(out, map[string]any{"step": i, "op": s.Step.Op(), "id": s.Step.ID(),
			"detail": printable.Line(s.Step.Detail()), "after": s.After})
	}
	return out
}

// Done are the steps after which the plan fails, for the log.
func (j Judgement) Done() []int { return j.verdict.Done }

// Diagnostics tell those that asked for the step after which the plan fails, or the load balancer.
func (j Judgement) Diagnostics() []diag.Diagnostic {
	if j.Way != Unproven && j.Way != Accepted {
		return nil
	}
	said := diag.Diagnostic{Severity: diag.Warning, Reason: diag.PlanUnproven,
		Source: plan.SourceOf(j.plan.Key), Message: "nothing is changed: " + j.Message()}
	if j.Way == Accepted {
		said.Message = "it is changed because the class says so, although " + j.Message()
	}
	out := []diag.Diagnostic{said}
	if done := j.verdict.Done; len(done) > 0 {
		for _, source := range j.plan.Steps[done[len(done)-1]].Origin {
			said.Source = source.At("")
			if !slices.Contains(out, said) {
				out = append(out, said)
			}
		}
	}
	return diag.Limit(out)
}
