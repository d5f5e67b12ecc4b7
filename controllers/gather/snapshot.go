package gather

import (
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/settings"
)

// This file has the snapshot of a load balancer.

// A Snapshot holds the ingress.Snapshot of a load balancer, its record, and the Ingresses that
// are to leave it.
type Snapshot struct {
	ingress.Snapshot
	Record records.Record // from before this reconcile
	// Actual are the current Ingresses of the members, by namespace/name.
	Actual map[string]*networkingv1.Ingress
	// Departed are Ingresses that the load balancer has and that are no members any more: deleted, or
	// of another load balancer or controller. An Ingress that does not exist is nil.
	Departed map[string]*networkingv1.Ingress
	// Disowned are the departed Ingresses that no other load balancer has.
	Disowned map[string]bool
	// ConsentWithdrawn has the diagnostics of disowned Ingresses whose served settings the class does
	// not permit any more.
	ConsentWithdrawn map[string]diag.Diagnostic
	// AwaitingRoom are the Ingresses that become members when there is room.
	AwaitingRoom map[string]bool
	// Vanished are the members that are still served after their Ingresses were removed without the
	// operator, by namespace/name.
	Vanished map[string]record.Vanishing
	// FinalizerErr has the failures to add the finalizer to Ingresses; nil if there is none.
	FinalizerErr error
	// PausedBy is the setting or the annotation that pauses the load balancer; "" if none does.
	PausedBy string
	// Adoption is the record of a load balancer that is taken over; nil if it is not.
	Adoption *records.Adoption
	// Expectations are the expectations of the class; nil if it has none.
	Expectations *expectations.Set
	// ReadAt is when the snapshot was read. Refusals that had ended by then are tried again.
	ReadAt time.Time
}

// Ask returns the questions about the cloud that the compiler has. It asks for limits if the last
// plan met one.
func (g *Snapshot) Ask() lb.Questions {
	q := model.Ask(g.Snapshot)
	q.Limits = records.HasRejections(&g.Record)
	return q
}

// MemberNames returns the names of the members, oldest first.
func (g *Snapshot) MemberNames() []string {
	var out []string
	for _, m := range g.Members {
		out = append(out, m.Owner.String())
	}
	return out
}

// Retained reports whether a load balancer without members is kept. Its class decides, or the last
// version of a deleted class. A load balancer whose served settings the class does not permit any
// more is not kept.
func (g *Snapshot) Retained() bool {
	return len(g.Members) == 0 && !g.Withdrawn && g.Class.Retains()
}

// HasChanges reports whether an Ingress came, went or asks for something else since the last plan.
func (g *Snapshot) HasChanges() bool {
	return len(g.Departed) > 0 || len(g.Changes()) > 0
}

// WarmTimeout returns how long plans wait for healthy target groups, by the class.
func (g *Snapshot) WarmTimeout() time.Duration {
	if t := g.Class.WarmTimeout; t != nil {
		return t.Duration
	}
	return settings.DefaultWarmTimeout
}
