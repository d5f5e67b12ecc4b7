package loadbalancer

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/ingresses"
	"fairlead.dev/fairlead/model/lb"
)

// This file leaves load balancers as they are that are on their way from another controller, or to it. Its tags say
// whose they are, and are changed by who writes the record of that.

// adopted has the version of the record of each load balancer that is taken over, as the last reconcile read it.
type adopted struct {
	mu       sync.Mutex
	versions map[lb.Key]string
}

// forgetIfAdopted drops the observation of a load balancer whose record has changed since the last reconcile: what is in
// the cloud was not the operator's then, and is now.
func (r *Reconciler) forgetIfAdopted(g *gather.Snapshot) {
	version := ""
	if g.Adoption != nil {
		version = g.Adoption.Version()
	}
	r.adopted.mu.Lock()
	changed := r.adopted.versions[g.Key] != version
	if r.adopted.versions == nil {
		r.adopted.versions = map[lb.Key]string{}
	}
	if r.adopted.versions[g.Key] = version; version == "" {
		delete(r.adopted.versions, g.Key)
	}
	r.adopted.mu.Unlock()
	if changed {
		r.forget(g.Key)
		r.gate.Forget(g.Key)
	}
}

// reportAdoption reports why neither the load balancer nor its Ingresses are changed. One that was given back is forgotten.
// Targets are registered until then, as under a pause: Pods come and go, and the other controller does not run.
func (r *Reconciler) reportAdoption(ctx context.Context, g *gather.Snapshot) error {
	r.forgetIfAdopted(g)
	r.backlog.End(g.Key) // no change of it is late
	if g.Adoption.State == v1alpha1.AdoptionReturned {
		return r.letGo(ctx, g)
	}
	if g.Adoption.Reason() == v1alpha1.ReasonTakingOver {
		r.Targets.Expect(g.Key, r.Directory.ReferencesOf(g.Key), nil) // Pods do not wait for it
	}
	next := *g.Record.DeepCopy()
	setConditions(&next, []metav1.Condition{condition(v1alpha1.ConditionProgrammed, false, g.Adoption.Reason(),
		g.Adoption.Message())}, time.Now())
	setWaiting(&next, nil, time.Now())
	return r.keep(ctx, g.Key, &next)
}

// letGo forgets a load balancer that was given back, and removes the finalizer from its Ingresses. Their status is left as
// it is: the address is the same. As long as they are of our class they stay in the directory, for they may be taken over
// again.
func (r *Reconciler) letGo(ctx context.Context, g *gather.Snapshot) error {
	r.Targets.Track(ctx, g.Key, g.Class.LoadBalancerClassSpec, lb.Capabilities{}, nil)
	if err := r.finish(ctx, outcome{Snapshot: g}, g.Departed); err != nil {
		return err
	}
	r.Targets.Expect(g.Key, r.Directory.ReferencesOf(g.Key), nil)
	names := slices.Sorted(maps.Keys(g.Actual))
	return ingresses.ForEach(len(names), func(i int) error {
		if r.isOnOthers(outcome{Snapshot: g}, cluster.RefFrom(cluster.KindIngress, names[i])) {
			return nil
		}
		return r.Ingresses.RemoveFinalizer(ctx, g.Actual[names[i]])
	})
}
