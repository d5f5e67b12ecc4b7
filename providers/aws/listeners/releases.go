package listeners

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file decides when an unused resource can be deleted: for AWS it stays in use for a while. A
// deletion that comes too early returns ErrPending without a call.

// The wait after a load balancer was deleted, short because it serves no request, and the wait
// after AWS refused a deletion. After a change of rules the wait is the settle time: AWS may
// still deploy them.
const (
	afterBalancer = 10 * time.Second
	afterRefusal  = 5 * time.Second
)

// Releases holds the resources that steps stopped using, and the times when they can be deleted.
// Its parts have locks of their own.
type Releases struct {
	settle time.Duration // the longest time that AWS takes to deploy rules

	gates client.Gates // of target groups, certificates, security groups and listeners, by handle
	// of resources that were released before this process started, by load balancer and kind
	inherited client.Gates
	// load balancers whose rules changed; the old ones may still answer requests
	rerouted client.Backoff
}

// NewReleases returns Releases without state.
func NewReleases(settle time.Duration) *Releases { return &Releases{settle: settle} }

// ReleaseUnused starts the wait for the target groups, certificates and security groups that a
// step stopped using. Other steps may stop using them at the same time. While rules are being
// deployed, deleted rules may still answer requests, so the web ACL that they asked for stays.
func (r *Releases) ReleaseUnused(seen *lb.Observed, step plan.Step) {
	first := r.settle
	_, whole := step.(plan.DeleteLoadBalancer)
	if whole {
		first = afterBalancer
		for _, l := range seen.Listeners { // deleted with the load balancer
			r.gates.Remove(l.Handle)
		}
	}
	after := seen.Clone()
	step.Do(after, plan.Result{})
	still := countUses(after)
	together := map[string]*client.Gate{} // AWS releases resources of a kind at the same time
	for id, n := range countUses(seen) {
		if still[id] == n && !whole { // a deleted load balancer ends the waits for its rules, too
			continue
		}
		kind := kindOf(id)
		if together[kind] == nil {
			together[kind] = client.NewGate(first, afterRefusal, r.settle)
		}
		r.gates.Set(id, together[kind])
	}
	switch step.(type) {
	case plan.ModifyListener, plan.DeleteListener, plan.ModifyRule, plan.DeleteRule:
		if seen.Protection.HasWebACL() {
			r.rerouted.Wait(seen.Handle, r.settle, r.settle)
		}
		r.keepRedirectPorts(seen, after)
	case plan.CreateRule: // it may match requests that a later rule redirected
		r.keepRedirectPorts(seen, after)
	default: // no rule loses requests
	}
}

// ReroutedLately reports whether rules of a load balancer changed a moment ago, so that the old
// ones may still answer requests.
func (r *Releases) ReroutedLately(arn string) bool { return r.rerouted.TooEarly(arn) }

// Forget forgets a load balancer that was deleted.
func (r *Releases) Forget(_ lb.Key, arn string) { r.rerouted.Forget(arn) }

// keepRedirectPorts starts the wait for the listeners that redirects lead to: while rules are
// being deployed, clients may be redirected as before, and those ports have to stay open.
func (r *Releases) keepRedirectPorts(seen, after *lb.Observed) {
	for _, l := range seen.Listeners {
		actions := []lb.Action{l.Default}
		for _, rule := range l.Rules {
			actions = append(actions, rule.Action)
		}
		for _, a := range actions {
			if a.Redirect == nil {
				continue
			}
			if to := after.Listener(a.Redirect.Target(l.Port, l.Protocol)); to != nil {
				r.gates.Set(to.Handle, client.NewGate(r.settle, afterRefusal, r.settle))
			}
		}
	}
}

// kindOf returns the beginning that all handles of a kind share.
func kindOf(handle string) string {
	kind, _, _ := strings.Cut(handle, "/")
	return kind
}

// DeleteUnused deletes a resource, unless it is too early or AWS answers that it is in use. If
// another process released the resource, and a load balancer exists that may still send requests
// there, it counts as released now, together with all resources of its kind.
func (r *Releases) DeleteUnused(ctx context.Context, seen *lb.Observed, id string,
	remove func() error) error {
	g := r.gates.Get(id, func() *client.Gate {
		return r.inherited.Get(string(seen.Key)+" "+kindOf(id), func() *client.Gate {
			if seen.Exists {
				return client.NewGate(r.settle, afterRefusal, r.settle)
			}
			return client.NewGate(0, afterRefusal, r.settle)
		})
	})
	return r.throughGate(ctx, id, g, remove)
}

// DeleteListener deletes a listener, unless clients may still be redirected to its port: rules
// take a while to be deployed, and security groups close a port at once.
func (r *Releases) DeleteListener(ctx context.Context, handle string, remove func() error) error {
	g := r.gates.Get(handle, func() *client.Gate { return client.NewGate(0, afterRefusal, r.settle) })
	return r.throughGate(ctx, handle, g, remove)
}

// throughGate deletes a resource if its gate lets the call through.
func (r *Releases) throughGate(ctx context.Context, id string, g *client.Gate,
	remove func() error) error {
	err := g.Do(ctx, func(err error) bool {
		return errors.Is(err, providers.ErrPending) ||
			client.HasCode(err, "ResourceInUse", "DependencyViolation", "InvalidGroup.InUse")
	}, remove)
	if errors.Is(err, client.ErrShut) {
		return fmt.Errorf("deleting %s, which was in use a moment ago: %w", id, providers.ErrPending)
	}
	if err == nil {
		r.gates.Remove(id)
	}
	return err
}

// countUses counts how often listeners and rules name each target group and certificate, by handle.
func countUses(o *lb.Observed) map[string]int {
	out := map[string]int{}
	for _, g := range o.TargetGroups {
		out[g.Handle] = 0
	}
	for _, c := range o.Certificates {
		out[c.Handle] = 0
	}
	if o.Exists && o.Firewall != "" {
		out[o.Firewall]++
	}
	name := func(a lb.Action) {
		for _, id := range a.Groups() {
			if g := o.TargetGroup(id); g != nil {
				out[g.Handle]++
			}
		}
	}
	for _, l := range o.Listeners {
		name(l.Default)
		for _, r := range l.Rules {
			name(r.Action)
		}
		for _, id := range l.Certificates {
			if c := o.Certificate(id); c != nil {
				out[c.Handle]++
			}
		}
	}
	return out
}
