package gather

import (
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/settings"
)

// This file holds what is read of a load balancer.

// A gathering is the snapshot of a load balancer and whom it has to let go of.
type Snapshot struct {
	ingress.Snapshot
	Record records.Record // what is remembered
	// Actual are the members' Ingresses as they are, by namespace/name.
	Actual map[string]*networkingv1.Ingress
	// Departed are Ingresses that this load balancer holds and that are no members any more:
	// deleted, or somebody else's. One that is gone already is nil.
	Departed map[string]*networkingv1.Ingress
	// Disowned are those of the departed that no other load balancer of ours has either.
	Disowned map[string]bool
	// ConsentWithdrawn is what the disowned are told whose class does not permit any more what was served of
	// them.
	ConsentWithdrawn map[string]diag.Diagnostic
	// AwaitingRoom are those that become members once there is room.
	AwaitingRoom map[string]bool
	// vanished are the members that are gone without having been let go of, and are served on, by
	// namespace/name.
	vanished map[string]ingress.Vanishing
	// PausedBy is what pauses the load balancer; "" if nothing does.
	PausedBy string
	// ReadAt is when it was read: what had ended by then is tried again.
	ReadAt time.Time
}

// Ask is what compiling needs to know about the cloud, its limits too if they were in the way last
// time.
func (g *Snapshot) Ask() lb.Questions {
	q := model.Ask(g.Snapshot)
	q.Limits = records.HasRejections(&g.Record)
	return q
}

// MemberNames are those of the members, oldest first.
func (g *Snapshot) MemberNames() []string {
	var out []string
	for _, m := range g.Members {
		out = append(out, m.Owner.String())
	}
	return out
}

// Retained reports whether a load balancer that has no members any more stays as it is. Its class
// decides, as it is now; one that is gone, as it was. A load balancer that served something to which
// its class does not consent any more does not stay.
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
