package aws

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/retry"
)

// This file is what Fairlead knows would be asked in vain: AWS says for a while that what was let go of
// is in use (gate.go says how that is found out), and targets take their time to become healthy. Who asks
// again too early is told so without a call.

// What a load balancer that was deleted leaves behind is asked about soon: nobody sends requests there. What
// others may still be sent to, while rules are being deployed, is left alone for as long as that may take.
const (
	afterBalancer = 10 * time.Second
	afterRefusal  = 5 * time.Second
)

// letGo notes, after a step, which target groups, certificates and security groups it stopped using
// somewhere: they can be deleted once AWS has got over it. Other steps may be stopping to use them at the
// same time. For as long as rules are being deployed, requests may be answered by those that are gone, and
// the web ACL that these asked for has to stay.
func (p *Provider) letGo(seen *lb.Observed, step plan.Step) {
	first := p.settle
	_, whole := step.(plan.DeleteLoadBalancer)
	if whole {
		first = afterBalancer
		for _, l := range seen.Listeners { // which nobody is going to close
			p.released.Remove(l.Handle)
		}
	}
	after := seen.Clone()
	step.Do(after, plan.Result{})
	still := uses(after)
	together := map[string]*retry.Gate{} // AWS gets over things of a kind at the same time
	for id, n := range uses(seen) {
		if still[id] == n && !whole { // with the load balancer goes what was to wait for its rules, too
			continue
		}
		kind := kindOf(id)
		if together[kind] == nil {
			together[kind] = retry.NewGate(first, afterRefusal, p.settle)
		}
		p.released.Set(id, together[kind])
	}
	switch step.(type) {
	case plan.ModifyListener, plan.DeleteListener, plan.ModifyRule, plan.DeleteRule:
		if seen.Protection.Guarded() {
			p.rerouted.Forget(seen.Handle)
			p.rerouted.Wait(seen.Handle, p.settle, p.settle)
		}
		p.redirects(seen, after)
	case plan.CreateRule: // it may be for requests that are redirected by what comes behind it
		p.redirects(seen, after)
	default: // serves nobody less than before
	}
}

// redirects notes that clients of a load balancer may be redirected as before for as long as its rules are being
// deployed: the ports where that leads have to stay open.
func (p *Provider) redirects(seen, after *lb.Observed) {
	for _, l := range seen.Listeners {
		actions := []lb.Action{l.Default}
		for _, r := range l.Rules {
			actions = append(actions, r.Action)
		}
		for _, a := range actions {
			if a.Redirect == nil {
				continue
			}
			if to := after.Listener(a.Redirect.Target(l.Port, l.Protocol)); to != nil {
				p.released.Set(to.Handle, retry.NewGate(p.settle, afterRefusal, p.settle))
			}
		}
	}
}

// kindOf is what all handles of a kind begin with.
func kindOf(handle string) string {
	kind, _, _ := strings.Cut(handle, "/")
	return kind
}

// whenReleased deletes something, unless it is too early or AWS says that it is in use. What another process
// let go of is taken for let go of just now, as long as there is a load balancer that may still send requests
// there; things of a kind at the same time.
func (p *Provider) whenReleased(ctx context.Context, seen *lb.Observed, id string, remove func() error) error {
	g := p.released.At(id, func() *retry.Gate {
		return p.inherited.At(string(seen.Key)+" "+kindOf(id), func() *retry.Gate {
			if seen.Exists {
				return retry.NewGate(p.settle, afterRefusal, p.settle)
			}
			return retry.NewGate(0, afterRefusal, p.settle)
		})
	})
	return p.remove(ctx, id, g, remove)
}

// whenUnled deletes a listener, unless clients may still be redirected to its port: rules take a while to be
// deployed, and security groups close a port at once.
func (p *Provider) whenUnled(ctx context.Context, handle string, remove func() error) error {
	g := p.released.At(handle, func() *retry.Gate { return retry.NewGate(0, afterRefusal, p.settle) })
	return p.remove(ctx, handle, g, remove)
}

// remove deletes something once its gate lets that through.
func (p *Provider) remove(ctx context.Context, id string, g *retry.Gate, remove func() error) error {
	err := g.Through(ctx, func(err error) bool {
		return errors.Is(err, providers.ErrPending) || is(err, "ResourceInUse", "DependencyViolation")
	}, remove)
	if errors.Is(err, retry.ErrShut) {
		return fmt.Errorf("deleting %s, which was in use a moment ago: %w", id, providers.ErrPending)
	}
	if err == nil {
		p.released.Remove(id)
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
