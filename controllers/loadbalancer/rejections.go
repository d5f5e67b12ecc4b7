package loadbalancer

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file handles steps that the cloud rejected. If possible, a version of an Ingress, or the
// certificate of a Secret, is recorded as refused, and the next compilation leaves it out.
// Otherwise, because all members need the step or its object is served, the rejection is reported
// to the Ingresses that ask for it, and the step is tried again. A refusal for lack of room ends
// after a while.

// A refusal is a rejected step in the form that is reported to a member that asks for it.
type refusal struct {
	source  diag.Source
	message string
	// version is the refused version, as in v1alpha1.Rejection; "" if leaving it out would not help.
	version string
	// temporary is set if other members can make room.
	temporary bool
}

// refusals returns the steps that were rejected because of a member.
func (o outcome) refusals(m ingress.Member) []refusal {
	var out []refusal
	for _, r := range o.Run.Rejections {
		if source, asks := requestedAt(r, m); asks {
			out = append(out, refusal{
				source: source, message: o.reportedMessage(m, source, printable.Shorten(r.Err.Error())),
				version:   o.refusableVersion(r.Step, m),
				temporary: errors.Is(r.Err, providers.ErrNoRoom),
			})
		}
	}
	return out
}

// failedNamespaces returns the namespaces that ask for steps that failed, or whose objects these
// delete. Waits for targets do not count: no step of another namespace comes after one.
func (o outcome) failedNamespaces() []string {
	var out []string
	for _, r := range o.Run.Failed {
		if _, await := r.Step.(plan.AwaitTargets); !await {
			out = append(out, plan.Planned{Step: r.Step, Origin: r.Origin}.Namespaces()...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// addRun adds the result of another plan, without steps that failed, and reports whether
// steps failed that had not failed before.
func (o *outcome) addRun(next providers.Outcome, err error) bool {
	more := slices.ContainsFunc(next.Failed, func(r providers.Rejection) bool {
		_, await := r.Step.(plan.AwaitTargets)
		return !await && !slices.ContainsFunc(o.Run.Failed, func(known providers.Rejection) bool {
			return sameStep(known.Step, r.Step)
		})
	})
	o.Run.Done += next.Done
	o.Run.HalfDone = o.Run.HalfDone || next.HalfDone
	o.Run.Rejections = append(slices.Clip(o.Run.Rejections), next.Rejections...)
	o.Run.Failed = append(slices.Clip(o.Run.Failed), next.Failed...)
	o.Run.Pending = slices.DeleteFunc(slices.Clone(o.Run.Pending), func(s plan.Step) bool {
		_, await := s.(plan.AwaitTargets)
		return await // the other plan awaits them, too
	})
	o.Run.Pending = append(o.Run.Pending, next.Pending...)
	if !queue.OnlyPending(err) {
		o.Err = errors.Join(o.Err, err)
	}
	return more
}

// sameStep reports whether two steps are printed alike.
func sameStep(a, b plan.Step) bool {
	return a.Op() == b.Op() && a.ID() == b.ID() && a.Detail() == b.Detail()
}

// learnsRejections reports whether the record will have a rejected version that it has not yet: the
// next compilation leaves it out.
func (o outcome) learnsRejections() bool {
	for _, m := range o.Snapshot.Members {
		known := o.Snapshot.Recorded.Members[m.Owner.String()]
		lasting := func(version string) bool {
			return slices.ContainsFunc(known.Rejections, func(k record.Rejection) bool {
				return k.Version == version
			})
		}
		if !m.Leaving && slices.ContainsFunc(o.refusals(m), func(r refusal) bool {
			return r.version != "" && !lasting(r.version)
		}) {
			return true
		}
	}
	return false
}

// requestedAt returns the place where a member asks for a rejected step, and reports whether it
// does.
func requestedAt(r providers.Rejection, m ingress.Member) (diag.Source, bool) {
	switch r.Step.(type) {
	case plan.CreateLoadBalancer, plan.ModifyLoadBalancer: // all members need it
		return m.Source(), true
	case plan.ShieldLoadBalancer:
		return m.Source(), m.DecidesAboutShield()
	case plan.SetWebACL:
		return m.Source(), m.DecidesAboutWebACL()
	case plan.ImportCertificate, plan.ReplaceCertificate, plan.AttachCertificate:
		at := slices.IndexFunc(r.Origin, func(s diag.Source) bool { return s.At("") == m.Source() })
		if at < 0 {
			return diag.Source{}, false
		}
		return r.Origin[at], true
	default:
		return m.Source(), slices.ContainsFunc(r.Origin, func(s diag.Source) bool {
			return s.At("") == m.Source()
		})
	}
}

// refusableVersion returns the version of a member that the next compilation leaves out to avoid
// the step; "" if this would not help, or would remove served routes.
func (o outcome) refusableVersion(s plan.Step, m ingress.Member) string {
	switch s := s.(type) {
	case plan.CreateTargetGroup, plan.ModifyTargetGroup, plan.RegisterTargets, plan.CreateRule,
		plan.ModifyRule:
		return record.Version(m.Ingress)
	case plan.CreateListener:
		return refusableDecision(s.Listener.Decided, m)
	case plan.ModifyListener:
		return refusableDecision(s.Listener.Decided, m)
	case plan.CreateLoadBalancer:
		return refusableDecision(s.LoadBalancer.Decided, m)
	case plan.ModifyLoadBalancer:
		return refusableDecision(s.LoadBalancer.Decided, m)
	case plan.ImportCertificate:
		known := o.Snapshot.Recorded.Members[m.Owner.String()]
		switch accepted := known.LastAccepted; {
		case !known.Served || !isSecured(o.Observed, m, s.Certificate) ||
			o.hasLastCertificate(s.Certificate, m):
			return string(s.Certificate.ID)
		case accepted != nil && !equality.Semantic.DeepEqual(*accepted, record.Accept(m.Ingress)):
			return record.Version(m.Ingress)
		}
	default: // all members need it, or it removes something
	}
	return ""
}

// refusableDecision returns the version of a member with one of the annotations that decide about
// settings; "" if it has none.
func refusableDecision(decided []diag.Source, m ingress.Member) string {
	if slices.ContainsFunc(decided, func(s diag.Source) bool { return s.At("") == m.Source() }) {
		return record.Version(m.Ingress)
	}
	return ""
}

// hasLastCertificate reports whether the load balancer has the last certificate of a member's
// Secret.
func (o outcome) hasLastCertificate(next lb.Certificate, m ingress.Member) bool {
	return slices.ContainsFunc(m.Spec.TLS, func(t networkingv1.IngressTLS) bool {
		secret := m.Namespace + "/" + t.SecretName
		return slices.Contains(next.Secrets, secret) &&
			o.Observed.Certificate(o.Snapshot.Recorded.Certificates[secret]) != nil
	})
}

// isSecured reports whether a member may be served over HTTPS with another certificate.
func isSecured(seen *lb.Observed, m ingress.Member, next lb.Certificate) bool {
	hosts := slices.Clone(next.Hosts)
	for _, r := range m.Spec.Rules {
		hosts = append(hosts, r.Host)
	}
	if m.Spec.DefaultBackend != nil {
		hosts = append(hosts, string(routing.Any))
	}
	serves := func(name string) bool {
		return slices.ContainsFunc(hosts, func(host string) bool {
			return routing.Host(name).Covers(routing.Host(host)) ||
				routing.Host(host).Covers(routing.Host(name))
		})
	}
	for _, l := range seen.Listeners {
		for _, id := range l.Certificates {
			if c := seen.Certificate(id); c == nil || slices.ContainsFunc(c.Hosts, serves) {
				return true
			}
		}
	}
	return false
}

// reportedMessage returns the reported message of the same failure, if there is one: each answer
// has another request ID.
func (o outcome) reportedMessage(m ingress.Member, source diag.Source, message string) string {
	if known := records.MemberOf(&o.Snapshot.Record, m.Owner.String()); known != nil {
		for _, r := range known.Rejections {
			if queue.SameFailure(r.Message, message) {
				return r.Message
			}
		}
	}
	for _, d := range o.Snapshot.Record.Diagnostics {
		if (d.Reason == string(diag.Rejected) || d.Reason == string(diag.ChangeWaits)) && d.Source == source.String() &&
			queue.SameFailure(d.Message, message) {
			return d.Message
		}
	}
	return message
}

// unavoidableRejections returns the rejections that no omission can avoid.
func (o outcome) unavoidableRejections() []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, m := range o.Snapshot.Members {
		if m.Leaving {
			continue
		}
		for _, r := range o.refusals(m) {
			d := diag.Diagnostic{
				Severity: diag.Error, Reason: diag.Rejected, Source: r.source, Message: r.message,
			}
			if r.version == "" && !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
	}
	return out
}

// refusedParkingRules returns the parking rules that were refused. The plan continued without them.
// No object asks for such a rule, so none is refused for it.
func (o outcome) refusedParkingRules() []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, r := range o.Run.Unparked {
		for _, source := range r.Origin {
			d := diag.Diagnostic{
				Severity: diag.Warning, Reason: diag.Unparked, Source: source,
				Message: printable.Shorten("requests go to targets that may not be healthy yet: " +
					r.Err.Error()),
			}
			if !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
	}
	return out
}

// learnRejections records the refused versions of a member. A repeated refusal keeps its message.
func (o outcome) learnRejections(m ingress.Member, known *v1alpha1.MemberMemory, now time.Time) {
	// the author has seen more than five messages, and one for each certificate
	most := 5 + len(m.Spec.TLS)
	for _, r := range o.refusals(m) {
		at := slices.IndexFunc(known.Rejections, func(k v1alpha1.Rejection) bool {
			return k.Version == r.version
		})
		if r.version == "" || at >= 0 && !records.HasEnded(known.Rejections[at], o.Snapshot.ReadAt) {
			continue
		}
		if at >= 0 {
			known.Rejections = slices.Delete(known.Rejections, at, at+1)
		}
		fresh := v1alpha1.Rejection{
			Version: r.version, Message: r.message, Capabilities: digestOf(o.Capabilities),
		}
		if r.temporary {
			fresh.Until = &metav1.Time{Time: now.Add(queue.AfterRejected).Truncate(time.Second)}
		}
		known.Rejections = append(known.Rejections, fresh)
		known.Rejections = known.Rejections[max(0, len(known.Rejections)-most):]
	}
}

// lastingRejections returns the rejections that had not ended when the snapshot was read.
func (o outcome) lastingRejections(all []v1alpha1.Rejection) []v1alpha1.Rejection {
	return slices.DeleteFunc(slices.Clone(all), func(r v1alpha1.Rejection) bool {
		return records.HasEnded(r, o.Snapshot.ReadAt)
	})
}

// rejected returns the members with new refusals. The next compilation follows at once, and leaves
// the refused versions out.
func (o outcome) rejected(next *records.Record) []string {
	var out []string
	for _, m := range next.Memory.Members {
		var before []v1alpha1.Rejection
		if known := records.MemberOf(&o.Snapshot.Record, m.Ingress); known != nil {
			before = o.lastingRejections(known.Rejections)
		}
		if !equality.Semantic.DeepEqual(before, o.lastingRejections(m.Rejections)) {
			out = append(out, m.Ingress)
		}
	}
	return out
}

// keepPreviousDiagnostics keeps the conditions and diagnostics of the last record: another
// compilation, which knows the rejections, follows at once.
func (o outcome) keepPreviousDiagnostics(next *records.Record) {
	before := &o.Snapshot.Record
	next.Conditions, next.Diagnostics, next.OmittedDiagnostics = before.Conditions, before.Diagnostics,
		before.OmittedDiagnostics
}

// untilTried returns the time until a rejected step is tried again.
func untilTried(r *records.Record, now time.Time) time.Duration {
	wait := queue.AfterRejected
	for _, m := range r.Memory.Members {
		for _, x := range m.Rejections {
			if x.Until != nil && x.Until.After(now) {
				wait = min(wait, x.Until.Sub(now))
			}
		}
	}
	return wait
}

// digestOf returns a digest of the capabilities of a cloud.
func digestOf(c lb.Capabilities) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v", c))
	return hex.EncodeToString(sum[:8])
}
