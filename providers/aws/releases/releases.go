// Package releases decides when resources can be deleted that load balancers no longer use.
package releases

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/retry"
)

// This file decides when a resource that load balancers no longer use can be deleted: AWS
// counts it as in use for a while. A deletion that comes too early returns ErrPending without a
// call.

// The wait after a load balancer was deleted, short because it serves no request, and the wait
// after AWS refused a deletion. After a change of rules the wait is the settle time: AWS may
// still deploy them.
const (
	afterBalancer = 10 * time.Second
	afterRefusal  = 5 * time.Second
)

// Releases holds what steps stopped using, and when that can be deleted. Its parts have locks
// of their own.
type Releases struct {
	settle time.Duration // how long AWS takes at most to deploy rules

	gates retry.Gates // of target groups, certificates, security groups and listeners, by handle
	// of what was released before this process started, by load balancer and kind
	inherited retry.Gates
	// load balancers whose rules changed, and that may still serve the old ones
	rerouted retry.Backoff
}

// New returns Releases without state.
func New(settle time.Duration) *Releases { return &Releases{settle: settle} }

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
	still := uses(after)
	together := map[string]*retry.Gate{} // AWS releases things of a kind at the same time
	for id, n := range uses(seen) {
		if still[id] == n && !whole { // a deleted load balancer ends the waits for its rules, too
			continue
		}
		kind := kindOf(id)
		if together[kind] == nil {
			together[kind] = retry.NewGate(first, afterRefusal, r.settle)
		}
		r.gates.Set(id, together[kind])
	}
	switch step.(type) {
	case plan.ModifyListener, plan.DeleteListener, plan.ModifyRule, plan.DeleteRule:
		if seen.Protection.Guarded() {
			r.rerouted.Wait(seen.Handle, r.settle, r.settle)
		}
		r.keepRedirectPorts(seen, after)
	case plan.CreateRule: // it may take requests that a later rule redirected
		r.keepRedirectPorts(seen, after)
	default: // takes no request away
	}
}

// ReroutedLately reports whether rules of a load balancer changed a moment ago, so that it may
// still serve the old ones.
func (r *Releases) ReroutedLately(arn string) bool { return r.rerouted.Early(arn) }

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
				r.gates.Set(to.Handle, retry.NewGate(r.settle, afterRefusal, r.settle))
			}
		}
	}
}

// kindOf returns the beginning that all handles of a kind share.
func kindOf(handle string) string {
	kind, _, _ := strings.Cut(handle, "/")
	return kind
}

// DeleteUnused deletes a resource, unless it is too early or AWS says that it is in use. What
// another process released counts as released now, if a load balancer exists that may still
// send requests there; all things of a kind at the same time.
func (r *Releases) DeleteUnused(ctx context.Context, seen *lb.Observed, id string,
	remove func() error) error {
	g := r.gates.At(id, func() *retry.Gate {
		return r.inherited.At(string(seen.Key)+" "+kindOf(id), func() *retry.Gate {
			if seen.Exists {
				return retry.NewGate(r.settle, afterRefusal, r.settle)
			}
			return retry.NewGate(0, afterRefusal, r.settle)
		})
	})
	return r.throughGate(ctx, id, g, remove)
}

// DeleteListener deletes a listener, unless clients may still be redirected to its port: rules
// take a while to be deployed, and security groups close a port at once.
func (r *Releases) DeleteListener(ctx context.Context, handle string, remove func() error) error {
	g := r.gates.At(handle, func() *retry.Gate { return retry.NewGate(0, afterRefusal, r.settle) })
	return r.throughGate(ctx, handle, g, remove)
}

// throughGate deletes a resource if its gate lets the call through.
func (r *Releases) throughGate(ctx context.Context, id string, g *retry.Gate,
	remove func() error) error {
	err := g.Through(ctx, func(err error) bool {
		return errors.Is(err, providers.ErrPending) ||
			awserr.Is(err, "ResourceInUse", "DependencyViolation")
	}, remove)
	if errors.Is(err, retry.ErrShut) {
		return fmt.Errorf("deleting %s, which was in use a moment ago: %w", id, providers.ErrPending)
	}
	if err == nil {
		r.gates.Remove(id)
	}
	return err
}

// uses counts how often listeners and rules name each target group and certificate, by handle.
func uses(o *lb.Observed) map[string]int {
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
