// Package proofs handles plans that are not proven: their steps are carried out one after the
// other, if this is proven; otherwise the plan is withheld, unless the class permits it.
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

// These are the ways to carry out a plan, as the metric names them.
const (
	Proven     = "proven"
	Serialised = "serialised" // not proven, but its steps one after the other are
	Undecided  = "undecided"  // the check did not come to an end; it is carried out
	Accepted   = "accepted"   // not proven, and carried out because the class says so
	Unproven   = "unproven"   // withheld
)

// A Judgement has the verdict on a plan.
type Judgement struct {
	Way     string // one of those above; "" for an empty plan
	verdict proof.Verdict
	plan    plan.Plan // of the verdict
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

// Reason returns the reason for which the plan is withheld; "" if it is not.
func (j Judgement) Reason() string {
	if j.Way == Unproven {
		return v1alpha1.ReasonPlanUnproven
	}
	return ""
}

// Message describes the fault of the plan, and how to see it.
func (j Judgement) Message() string {
	said := "the plan is not proven: " + j.verdict.Why
	if r := j.verdict.Request; r != nil {
		said += "; such as " + j.Witness()
	}
	return printable.Line(said)
}

// Witness returns the command for a request that would get a wrong answer; "" if there is none.
func (j Judgement) Witness() string {
	if j.verdict.Request == nil {
		return ""
	}
	return compare.Written(SchemeOf(j.want, *j.verdict.Request), *j.verdict.Request).Curl()
}

// SchemeOf returns the scheme of requests to a port.
func SchemeOf(want lb.LoadBalancer, r routing.Request) string {
	if slices.ContainsFunc(want.Listeners, func(l lb.Listener) bool {
		return l.Port == r.Port && l.Protocol == routing.HTTPS
	}) {
		return "https"
	}
	return "http"
}

// Steps returns the steps of the plan, with their dependencies, for the log.
func (j Judgement) Steps() []map[string]any {
	var out []map[string]any
	for i, s := range j.plan.Steps {
		out = append(out, map[string]any{"step": i, "op": s.Step.Op(), "id": s.Step.ID(),
			"detail": printable.Line(s.Step.Detail()), "after": s.After})
	}
	return out
}

// Done returns the steps after which the plan fails, for the log.
func (j Judgement) Done() []int { return j.verdict.Done }

// Diagnostics returns a diagnostic for the Ingresses that ask for the failing step, or for the load
// balancer.
func (j Judgement) Diagnostics() []diag.Diagnostic {
	if j.Way != Unproven && j.Way != Accepted {
		return nil
	}
	said := diag.Diagnostic{Severity: diag.Warning, Reason: diag.PlanUnproven,
		Source: plan.SourceOf(j.plan.Key), Message: "the plan is not carried out: " + j.Message()}
	if j.Way == Accepted {
		said.Message = "the plan is carried out because the class permits it, although " + j.Message()
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

// Namespaces returns the namespaces of the failing step of a plan that is withheld; those of all
// steps before it if that is not known.
func (j Judgement) Namespaces() []string {
	done := j.verdict.Done
	if j.Way != Unproven || len(done) == 0 {
		return nil
	}
	if out := j.plan.Steps[done[len(done)-1]].Namespaces(); len(out) > 0 {
		return out
	}
	var out []string
	for _, i := range done {
		out = append(out, j.plan.Steps[i].Namespaces()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
