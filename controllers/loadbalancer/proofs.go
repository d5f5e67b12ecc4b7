package loadbalancer

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
	proven     = "proven"
	serialised = "serialised" // not proven, but its steps one after the other are
	undecided  = "undecided"  // the check did not come to an end; it is carried out
	accepted   = "accepted"   // not proven, and carried out because the class says so
	unproven   = "unproven"   // withheld
)

// A proofResult has the verdict on a plan.
type proofResult struct {
	Way     string // one of those above; "" for an empty plan
	verdict proof.Verdict
	plan    plan.Plan // of the verdict
	want    lb.LoadBalancer
}

// checkPlan checks a plan, and returns the one to carry out.
func checkPlan(seen *lb.Observed, want lb.LoadBalancer, p plan.Plan, d lb.Dialect,
	class v1alpha1.LoadBalancerClassSpec) (plan.Plan, proofResult) {
	if p.Empty() {
		return p, proofResult{}
	}
	j := proofResult{Way: proven, verdict: proof.Check(seen, want, p, d), plan: p, want: want}
	if j.verdict.Result == proof.Proven {
		return p, j
	}
	serial := proof.Serial(p)
	switch {
	case proof.Check(seen, want, serial, d).Result == proof.Proven:
		j.Way, p = serialised, serial
	case j.verdict.Result == proof.Undecided:
		j.Way = undecided
	case class.UnprovenPlans == v1alpha1.UnprovenPlansCarryOut:
		j.Way = accepted
	default:
		j.Way = unproven
	}
	return p, j
}

// reason returns the reason for which the plan is withheld; "" if it is not.
func (j proofResult) reason() string {
	if j.Way == unproven {
		return v1alpha1.ReasonPlanUnproven
	}
	return ""
}

// message describes the fault of the plan, and how to see it.
func (j proofResult) message() string {
	said := "the plan is not proven: " + j.verdict.Why
	if r := j.verdict.Request; r != nil {
		said += "; such as " + j.witness()
	}
	return printable.Line(said)
}

// witness returns the command for a request that would get a wrong answer; "" if there is none.
func (j proofResult) witness() string {
	if j.verdict.Request == nil {
		return ""
	}
	return compare.Written(schemeOf(j.want, *j.verdict.Request), *j.verdict.Request).Curl()
}

// schemeOf returns the scheme of requests to a port.
func schemeOf(want lb.LoadBalancer, r routing.Request) string {
	if slices.ContainsFunc(want.Listeners, func(l lb.Listener) bool {
		return l.Port == r.Port && l.Protocol == routing.HTTPS
	}) {
		return "https"
	}
	return "http"
}

// steps returns the steps of the plan, with their dependencies, for the log.
func (j proofResult) steps() []map[string]any {
	var out []map[string]any
	for i, s := range j.plan.Steps {
		out = append(out, map[string]any{"step": i, "op": s.Step.Op(), "id": s.Step.ID(),
			"detail": printable.Line(s.Step.Detail()), "after": s.After})
	}
	return out
}

// done returns the steps after which the plan fails, for the log.
func (j proofResult) done() []int { return j.verdict.Done }

// diagnostics returns a diagnostic for the Ingresses that ask for the failing step, or for the load
// balancer.
func (j proofResult) diagnostics() []diag.Diagnostic {
	if j.Way != unproven && j.Way != accepted {
		return nil
	}
	said := diag.Diagnostic{Severity: diag.Warning, Reason: diag.PlanUnproven,
		Source: plan.SourceOf(j.plan.Key), Message: "the plan is not carried out: " + j.message()}
	if j.Way == accepted {
		said.Message = "the plan is carried out because the class permits it, although " + j.message()
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

// namespaces returns the namespaces of the failing step of a plan that is withheld; those of all
// steps before it if that is not known.
func (j proofResult) namespaces() []string {
	done := j.verdict.Done
	if j.Way != unproven || len(done) == 0 {
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
