package gather

import (
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/snapshots"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/memory"
	"fairlead.dev/fairlead/model/settings"
)

// This file holds what is read of a load balancer.

// A Snapshot is the snapshots.Snapshot of a load balancer, its record, and the Ingresses that are
// to leave it.
type Snapshot struct {
	snapshots.Snapshot
	Record records.Record // as it was before this reconcile
	// Actual are the Ingresses of the members as they are, by namespace/name.
	Actual map[string]*networkingv1.Ingress
	// Departed are Ingresses that the load balancer has and that are no members any more: deleted, or
	// of another load balancer or controller. An Ingress that does not exist is nil.
	Departed map[string]*networkingv1.Ingress
	// Disowned says which of the departed no other load balancer has either.
	Disowned map[string]bool
	// ConsentWithdrawn has the diagnostics of those of the disowned of which the class does not permit
	// any more what was served.
	ConsentWithdrawn map[string]diag.Diagnostic
	// AwaitingRoom are the Ingresses that become members once there is room.
	AwaitingRoom map[string]bool
	// Vanished are the members that are served though their Ingresses were removed without the
	// operator, by namespace/name.
	Vanished map[string]memory.Vanishing
	// PausedBy is the setting or the annotation that pauses the load balancer; "" if none does.
	PausedBy string
	// Expectations are those of the class; nil if it has none.
	Expectations *expectations.Set
	// ReadAt is when the snapshot was read. Refusals that had ended by then are tried again.
	ReadAt time.Time
}

// Ask returns what compiling needs to know about the cloud. Limits are asked for if the last plan
// met one.
func (g *Snapshot) Ask() lb.Questions {
	q := model.Ask(g.Snapshot)
	q.Limits = records.HasRejections(&g.Record)
	return q
}

// MemberNames are the names of the members, oldest first.
func (g *Snapshot) MemberNames() []string {
	var out []string
	for _, m := range g.Members {
		out = append(out, m.Owner.String())
	}
	return out
}

// Retained reports whether a load balancer that has no members any more stays as it is. Its class
// decides, as it is now; one that is gone, as it was. A load balancer that served something to
// which its class does not consent any more does not stay.
func (g *Snapshot) Retained() bool {
	return len(g.Members) == 0 && !g.Withdrawn && g.Class.Retains()
}

// HasChanges reports whether an Ingress came, went or asks for something else since the last plan.
func (g *Snapshot) HasChanges() bool {
	return len(g.Departed) > 0 || len(g.Changes()) > 0
}

// WarmTimeout returns for how long the class has plans wait for target groups to be healthy.
func (g *Snapshot) WarmTimeout() time.Duration {
	if t := g.Class.WarmTimeout; t != nil {
		return t.Duration
	}
	return settings.DefaultWarmTimeout
}
