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
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/providers"
)

// This file decides whether a plan is withheld, describes why it or a part of it is, and tells all
// whose changes wait.

// withheld returns the reason of the condition Programmed for which a plan is not carried out; ""
// if it is carried out.
func (r *Reconciler) withheld(o outcome) string {
	why := ""
	switch {
	case o.Plan.Empty():
	case r.ReadOnly:
		why = v1alpha1.ReasonReadOnly
	case o.Snapshot.PausedBy != "":
		why = v1alpha1.ReasonPaused
	case r.lostRecordWait(o.Snapshot, time.Now()) > 0:
		why = v1alpha1.ReasonRecordLost
	case o.Dispute != nil && !o.Dispute.OfTargets:
		why = v1alpha1.ReasonDisputed
	case o.Forbidden != "":
		why = o.Forbidden
	case plan.Suspicious(o.Plan, o.Observed) && !o.Snapshot.HasChanges():
		if r.doubts.confirm(o.Plan) {
			return ""
		}
		return v1alpha1.ReasonUnconfirmed
	}
	r.doubts.forget(o.Snapshot.Key)
	return why
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
