package loadbalancer

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/routing"
)

// This file writes down what a reconcile found and did. It is a function of the outcome, the record
// before and the time: it calls nothing, and equal outcomes leave an equal record.

// record is the report; its memory is that of the record before.
func (o outcome) record(now time.Time) records.Record {
	next := *o.snap.Record.DeepCopy()
	next.Members = o.snap.MemberNames()
	next.MemberCount = int32(len(next.Members))
	if o.seen.Exists {
		next.Address, next.IPs = addressOf(o.seen.Address), o.seen.Address.IPs
	}
	next.Listeners = nil
	for _, l := range o.seen.Listeners {
		next.Listeners = append(next.Listeners, v1alpha1.ListenerStatus{Port: l.Port, Protocol: l.Protocol, Rules: int32(len(l.Rules))})
	}
	next.Rules, next.RuleLimit = int32(o.seen.RuleCount()), int32(o.caps.Rules)
	next.Diagnostics, next.OmittedDiagnostics = nil, 0
	for _, d := range o.diagnostics() {
		next.Diagnostics = append(next.Diagnostics, reported(d))
	}
	next.LastError = ""
	if o.err != nil {
		next.LastError = printable.Shorten(o.err.Error())
	}
	next.LastPlan = o.lastPlan(now)
	setConditions(&next, o.conditions(), now)
	return next
}

func setConditions(r *records.Record, conditions []metav1.Condition, now time.Time) {
	for _, c := range conditions {
		c.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
		meta.SetStatusCondition(&r.Conditions, c)
	}
}

func addressOf(a lb.Address) string {
	if a.Hostname == "" && len(a.IPs) > 0 {
		return a.IPs[0]
	}
	return a.Hostname
}

// diagnostics are all that there is to say.
func (o outcome) diagnostics() []diag.Diagnostic {
	return slices.Concat(o.built.Diagnostics, o.todo.Diagnostics, o.unrelieved(), o.unparked())
}

func reported(d diag.Diagnostic) v1alpha1.Diagnostic {
	return v1alpha1.Diagnostic{Severity: string(d.Severity), Reason: string(d.Reason), Source: printable.Line(d.Source.String()), Message: printable.Line(d.Message)}
}

// lastPlan is the plan that was run, or withheld, if it had steps. One that went as the last one
// did, which is what waiting looks like, is not news.
func (o outcome) lastPlan(now time.Time) *v1alpha1.PlanStatus {
	before := o.snap.Record.LastPlan
	if o.todo.Empty() {
		return before
	}
	p := &v1alpha1.PlanStatus{At: metav1.NewTime(now).Rfc3339Copy(), Summary: o.todo.Counts(), Done: int32(o.run.Done)}
	for _, s := range o.todo.Print()[:min(len(o.todo.Steps), v1alpha1.MaxSteps)] {
		p.Steps = append(p.Steps, v1alpha1.PlanStep{Op: s.Op, ID: printable.Line(s.ID), Detail: printable.Shorten(s.Detail)})
	}
	p.OmittedSteps = int32(len(o.todo.Steps) - len(p.Steps))
	if before != nil {
		p.At = before.At
		if equality.Semantic.DeepEqual(p, before) {
			return before
		}
		p.At = metav1.NewTime(now).Rfc3339Copy()
	}
	return p
}

// conditions are the three, and why they are so.
func (o outcome) conditions() []metav1.Condition {
	accepted := condition(v1alpha1.ConditionAccepted, true, v1alpha1.ReasonAccepted, "")
	for _, d := range o.diagnostics() {
		if d.Severity == diag.Error {
			accepted = condition(v1alpha1.ConditionAccepted, false, v1alpha1.ReasonMembersRefused, d.String())
			break
		}
	}
	rest := conditionsAfter(o.err)
	if lost := o.snap.ClassLost; lost != "" {
		lost += "; what is served is frozen until the class is back"
		accepted = condition(v1alpha1.ConditionAccepted, false, v1alpha1.ReasonClassMissing, lost)
		if rest[1].Status == metav1.ConditionFalse {
			rest[1] = condition(v1alpha1.ConditionDegraded, true, v1alpha1.ReasonClassMissing, lost)
		}
	}
	if o.dispute != nil && rest[1].Status == metav1.ConditionFalse {
		rest[1] = condition(v1alpha1.ConditionDegraded, true, v1alpha1.ReasonDisputed, o.dispute.String())
	}
	if told := o.snap.VanishedMessage(); told != "" && rest[1].Status == metav1.ConditionFalse {
		rest[1] = condition(v1alpha1.ConditionDegraded, true, v1alpha1.ReasonVanished, told)
	}
	if o.withheld != "" {
		rest[0] = condition(v1alpha1.ConditionProgrammed, false, o.withheld, o.todo.Counts()+": "+o.withholding())
	}
	if d := o.protected(); d != nil {
		rest[0] = condition(v1alpha1.ConditionProgrammed, false, v1alpha1.ReasonProtected, d.Message)
	}
	return append([]metav1.Condition{accepted}, rest...)
}

// protected is why a load balancer stays that nobody asks for any more; nil if none does.
func (o outcome) protected() *diag.Diagnostic {
	at := slices.IndexFunc(o.todo.Diagnostics, func(d diag.Diagnostic) bool { return d.Reason == diag.Protected })
	if at < 0 {
		return nil
	}
	return &o.todo.Diagnostics[at]
}

// conditionsAfter are what the cloud, or its failure, makes of a load balancer: whether it is
// programmed, and whether that is for somebody to look at.
func conditionsAfter(err error) []metav1.Condition {
	programmed := condition(v1alpha1.ConditionProgrammed, true, v1alpha1.ReasonProgrammed, "")
	degraded := condition(v1alpha1.ConditionDegraded, false, v1alpha1.ReasonAsExpected, "")
	if err != nil {
		reason := reasonOf(err)
		programmed = condition(v1alpha1.ConditionProgrammed, false, reason, err.Error())
		if reason != v1alpha1.ReasonPending && reason != v1alpha1.ReasonProgramming {
			degraded = condition(v1alpha1.ConditionDegraded, true, reason, err.Error())
		}
	}
	return []metav1.Condition{programmed, degraded}
}

func condition(kind string, holds bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: printable.Shorten(message)}
}

// reasonOf is the worst of what went wrong.
func reasonOf(err error) string {
	worst := v1alpha1.ReasonPending
	for _, e := range queue.JoinedErrors(err) {
		switch queue.RetryDelay(e) {
		case 0:
			return v1alpha1.ReasonProviderFailed
		case queue.AfterDenied:
			worst = v1alpha1.ReasonProviderDenied
		case queue.AfterRejected:
			if worst == v1alpha1.ReasonPending {
				worst = v1alpha1.ReasonProviderRefused
			}
		case queue.AfterConflict: // the operator was told to stop
			if worst == v1alpha1.ReasonPending {
				worst = v1alpha1.ReasonProgramming
			}
		}
	}
	return worst
}

// learn notes what the next compilation needs to know. What was rejected by a cloud that could do
// something else is to be tried again.
func (o outcome) learn(next *records.Record, now time.Time) {
	for i := range next.Memory.Members {
		m := &next.Memory.Members[i]
		m.Rejections = slices.DeleteFunc(m.Rejections, func(r v1alpha1.Rejection) bool {
			return r.Capabilities != "" && r.Capabilities != digestOf(o.caps)
		})
	}
	next.Memory.Rules = nil
	if o.snap.Class.UnknownRules == v1alpha1.UnknownRulesKeep {
		next.Memory.Rules = ruleView{o.seen, o.built.LoadBalancer, o.strangers}.ours()
	}
	served := o.served()
	if served && len(o.snap.Members) > 0 {
		next.Memory.Class = o.snap.Class.DeepCopy()
	}
	o.learnCertificates(&next.Memory)
	o.learnCloudCertificates(&next.Memory)
	o.learnClients(&next.Memory)
	o.learnOwners(&next.Memory, now)
	refused, ended := o.refused(), o.ended()
	for _, m := range o.snap.Members {
		if m.Leaving {
			continue
		}
		known := records.MemberOf(next, m.Owner.String()) // hold enrolled it
		o.learnRejections(m, known, now)
		if served {
			known.Rejections = o.lasting(known.Rejections) // what has ended was tried, and is there
		}
		switch {
		case served && ended[m.Source()] && !slices.ContainsFunc(o.built.Table.Members, func(by routing.Owner) bool { return by.String() == m.Owner.String() }):
			known.Served, known.LastAccepted = false, nil
		case !o.seen.Exists && o.complete():
			known.Served = false // there is no load balancer for it
		case served && !refused[m.Source()]:
			learnVersion(m, known, now)
		}
	}
}

// learnCertificates notes which certificates the cloud has of Secrets, even where not all of the
// plan was done.
func (o outcome) learnCertificates(known *v1alpha1.Memory) {
	held := model.Held(o.built.LoadBalancer, o.seen, o.snap.Memory.Certificates)
	known.Certificates = nil
	for _, secret := range slices.Sorted(maps.Keys(held)) {
		known.Certificates = append(known.Certificates, v1alpha1.SecretCertificate{Secret: secret, ID: string(held[secret])})
	}
}

// learnCloudCertificates notes which certificates of the cloud's own were chosen for which hosts.
func (o outcome) learnCloudCertificates(known *v1alpha1.Memory) {
	shown := model.CloudCertificates(o.built.Table, o.seen)
	known.CloudCertificates = nil
	for _, id := range slices.Sorted(maps.Keys(shown)) {
		known.CloudCertificates = append(known.CloudCertificates, v1alpha1.CloudCertificate{ID: string(id), Hosts: shown[id]})
	}
}

// learnClients notes which clients of Secrets the cloud has users sign in with.
func (o outcome) learnClients(known *v1alpha1.Memory) {
	held := model.Clients(o.built.LoadBalancer, o.seen, o.snap.Memory.Clients)
	known.Clients = nil
	for _, secret := range slices.Sorted(maps.Keys(held)) {
		known.Clients = append(known.Clients, v1alpha1.SecretClient{Secret: secret, ID: held[secret]})
	}
}

// learnVersion notes that a member's present version is served.
func learnVersion(m ingress.Member, known *v1alpha1.MemberMemory, now time.Time) {
	known.Served = true
	version := ingress.Accept(m.Ingress)
	if known.LastAccepted == nil || !equality.Semantic.DeepEqual(ingress.Accepted{Annotations: known.LastAccepted.Annotations, Spec: known.LastAccepted.Spec}, version) {
		known.LastAccepted = &v1alpha1.AcceptedVersion{At: metav1.NewTime(now).Rfc3339Copy(), Created: m.CreationTimestamp, Annotations: version.Annotations, Spec: version.Spec}
		known.Forgotten = false
	}
}

// refused are the members whose present version was left out.
func (o outcome) refused() map[diag.Source]bool {
	out := map[diag.Source]bool{}
	for _, d := range o.built.Diagnostics {
		if d.Reason == diag.QuotaExceeded && d.Severity != diag.Error {
			continue // it is served, by fewer targets than there are
		}
		if slices.Contains([]diag.Reason{diag.QuotaExceeded, diag.Rejected, diag.WebACLMissing, diag.WebACLDiffers, diag.NameTaken, diag.SettingsRefused}, d.Reason) ||
			d.Severity == diag.Error && slices.Contains([]diag.Reason{diag.AnnotationForeign, diag.AnnotationMisplaced, diag.NodesUnread}, d.Reason) {
			out[d.Source.At("")] = true
		}
	}
	return out
}

// ended are the members of which the class does not permit any more what was served.
func (o outcome) ended() map[diag.Source]bool {
	out := map[diag.Source]bool{}
	for _, d := range o.built.Diagnostics {
		if d.Reason == diag.ConsentWithdrawn && d.Severity == diag.Error {
			out[d.Source.At("")] = true
		}
	}
	return out
}

// lacking reports whether there is something that the cloud does not have, and might have soon.
func (o outcome) lacking() bool {
	return slices.ContainsFunc(o.built.Diagnostics, func(d diag.Diagnostic) bool {
		return slices.Contains([]diag.Reason{diag.NetworkUnmet, diag.NameTaken, diag.WebACLMissing, diag.NoShield}, d.Reason)
	})
}

// reportedBefore reports whether the record has a diagnostic already.
func (o outcome) reportedBefore(d diag.Diagnostic) bool {
	return slices.Contains(o.snap.Record.Diagnostics, reported(d))
}
