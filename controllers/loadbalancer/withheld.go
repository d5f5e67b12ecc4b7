package loadbalancer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/providers"
)

// This file describes why a plan, or a part of it, is withheld, and tells all whose changes wait.

// A holdReason is why some changes are left out of a plan that is carried out. The zero value is that
// of a plan with all changes.
type holdReason struct {
	Reason  string // as of the condition Programmed
	message string
}

// holdBack records that the plan was made without some changes. First is the plan with all of them,
// which was forbidden. Told has the violations of the first plan and of the plans in between.
// Closings has the violations for which hosts are closed instead.
func (o *outcome) holdBack(
	first outcome, told expectations.Judgement, closings []expectations.Closing,
) {
	told.StillViolated = o.Expectations.StillViolated
	if rest := told.Without(closings); rest.Reason() != "" || !o.Hold.Delays() {
		told = rest
	}
	o.Expectations, first.Expectations = told, told
	o.Expectations.Closings = closings
	if !o.Hold.Delays() {
		return
	}
	first.Withheld = first.Forbidden
	if first.Proof.reason() != "" {
		o.Proof = first.Proof
	}
	o.HoldReason = holdReason{Reason: first.Forbidden, message: first.withholding()}
}

// holds reports whether the present version of an Ingress is held back.
func (o outcome) holds(ingress string) bool {
	return slices.Contains(o.Hold.Ingresses, ingress) || slices.Contains(o.Hold.Accepted, ingress) ||
		slices.Contains(o.Hold.Namespaces, namespaceOf(ingress))
}

// keeps reports whether the plan still serves an Ingress that has departed.
func (o outcome) keeps(departed string) bool {
	return o.holds(departed) && o.Snapshot.Recorded.Members[departed].CanBeServed() || slices.Contains(o.Kept, departed)
}

// withholding describes why a plan is withheld, and what ends this.
func (o outcome) withholding() string {
	switch o.Withheld {
	case v1alpha1.ReasonReadOnly:
		return "this operator only plans"
	case v1alpha1.ReasonRecordLost:
		return lossMessage(o.Snapshot)
	case v1alpha1.ReasonDisputed:
		return o.Dispute.String()
	case v1alpha1.ReasonExpectation:
		return o.Expectations.Message() + "; it ends when the change, an Ingress that would answer, " +
			"the class or the ConfigMap is corrected"
	case v1alpha1.ReasonExpectations:
		return o.Expectations.Message() + "; it ends when the ConfigMap is corrected"
	case v1alpha1.ReasonPlanUnproven:
		return o.Proof.message() + "; this is a defect of Fairlead, please report it; it ends when the " +
			"change is divided, or the class has unprovenPlans: CarryOut"
	case v1alpha1.ReasonPaused:
		return o.Snapshot.PausedBy + " pauses the load balancer, until it is removed"
	default:
		return "so much would be deleted that a second reading has to confirm it"
	}
}

// lossMessage describes the loss of a record, and until when the load balancer is not changed.
func lossMessage(g *gather.Snapshot) string {
	at := g.Record.Memory.LostAt.UTC().Format(time.RFC3339)
	return fmt.Sprintf("the LoadBalancer was gone while the load balancer existed, and a pause with "+
		"it: nothing is changed for --vanished-grace, "+
		"or until the annotation %s=%s, or a later time that is over, confirms it",
		v1alpha1.ConfirmVanishedAnnotation, at)
}

// waiting returns the Ingresses whose changes wait, in order.
func (o outcome) waiting() []string {
	names := map[string]bool{}
	all := o.Withheld != "" && o.Withheld != v1alpha1.ReasonReadOnly &&
		o.Withheld != v1alpha1.ReasonUnconfirmed // the second reading follows at once
	for _, m := range o.Snapshot.Changes() {
		if all || o.holds(m.Owner.String()) {
			names[m.Owner.String()] = true
		}
	}
	for name := range o.Snapshot.Departed {
		if all || o.keeps(name) {
			names[name] = true
		}
	}
	for _, name := range slices.Concat(o.Hold.Ingresses, o.Kept, o.stuck()) {
		names[name] = true
	}
	if all {
		for _, s := range o.Plan.Steps {
			for _, source := range s.Origin {
				names[source.Object()] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// stuck returns the Ingresses whose changes wait for steps that failed for other namespaces.
func (o outcome) stuck() (out []string) {
	if !o.Stuck {
		return nil
	}
	causes, served := o.failedNamespaces(), o.servedTo()
	for _, m := range o.Snapshot.Changes() {
		if !slices.Contains(causes, m.Namespace) && !served(m) {
			out = append(out, m.Owner.String())
		}
	}
	for name := range o.Snapshot.Departed {
		if !slices.Contains(causes, namespaceOf(name)) {
			out = append(out, name)
		}
	}
	return out
}

// failureDiagnostics tells the Ingresses of the steps that they ask for and that failed. Rejections
// have diagnostics of their own, and long waits a condition.
func (o outcome) failureDiagnostics() (out []diag.Diagnostic) {
	for _, m := range o.Snapshot.Members {
		for _, f := range o.Run.Failed {
			at, asks := requestedAt(f, m)
			if !asks || m.Leaving || !errors.Is(f.Err, providers.ErrDenied) {
				continue
			}
			d := diag.Diagnostic{Severity: diag.Warning, Reason: diag.ChangeWaits, Source: at,
				Message: o.reportedMessage(m, at, printable.Shorten("its change waits: "+f.Err.Error()))}
			if !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
	}
	return out
}

// waitDiagnostics returns a diagnostic for each Ingress whose change waits.
func (o outcome) waitDiagnostics() []diag.Diagnostic {
	why := o.HoldReason.message
	switch {
	case o.Withheld != "":
		why = o.withholding()
	case o.Stuck && why == "":
		why = fmt.Sprintf("the cloud does not carry out steps of the namespaces %s, and without them the "+
			"plan is not permitted; it ends when the cloud carries them out, or these change",
			strings.Join(o.failedNamespaces(), ", "))
	}
	var out []diag.Diagnostic
	for _, name := range o.waiting() {
		ref := cluster.RefFrom(cluster.KindIngress, name)
		d := diag.Diagnostic{Severity: diag.Warning, Reason: diag.ChangeWaits,
			Source:  diag.Source{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name},
			Message: "its change waits: " + why}
		if slices.Contains(o.Hold.Ingresses, name) && o.Withheld == "" {
			d.Severity, d.Message = diag.Error, "it is not served: "+why
		}
		out = append(out, d)
	}
	return out
}

// holdMessage describes what is left out of a plan that is carried out.
func (o outcome) holdMessage() string {
	return fmt.Sprintf("the changes of some Ingresses wait (%s): %s",
		strings.Join(o.waiting(), ", "), o.HoldReason.message)
}
