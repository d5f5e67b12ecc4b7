package aws

import (
	"context"
	"fmt"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// This file applies steps, each with one call or a few.

// Apply applies one step.
func (p *Provider) Apply(
	ctx context.Context, seen *lb.Observed, step plan.Step,
) (plan.Result, error) {
	ctx = providers.WithKey(ctx, seen.Key)
	p.balancers.ForgetRecentRead(seen.Key)
	result, err := p.apply(ctx, seen, step)
	if err == nil {
		p.releases.ReleaseUnused(seen, step)
	}
	return result, err
}

func (p *Provider) apply(
	ctx context.Context, seen *lb.Observed, step plan.Step,
) (plan.Result, error) {
	switch s := step.(type) {
	case plan.CreateLoadBalancer:
		return p.balancers.Create(ctx, seen, s.LoadBalancer)
	case plan.ModifyLoadBalancer:
		return p.balancers.Modify(ctx, seen, s.LoadBalancer)
	case plan.DeleteLoadBalancer:
		return plan.Result{}, p.deleteLoadBalancer(ctx, seen)
	case plan.SetWebACL:
		return plan.Result{}, p.webACLs.Attach(ctx, seen, s.WebACL)
	case plan.ShieldLoadBalancer:
		return plan.Result{}, p.protections.Set(ctx, seen, s.Shield)
	case plan.DeleteFirewall:
		return plan.Result{}, p.firewalls.Delete(ctx, seen)
	case plan.ImportCertificate:
		arn, err := p.certificates.Import(ctx, seen, s.Certificate)
		return plan.Result{Handle: arn}, err
	case plan.ReplaceCertificate:
		return plan.Result{}, p.certificates.Replace(ctx, seen, s)
	case plan.ModifyCertificate:
		return plan.Result{}, p.certificates.Modify(ctx, seen, s.Certificate)
	case plan.DeleteCertificate:
		return plan.Result{}, p.certificates.Delete(ctx, seen, s.Certificate)
	case plan.CreateTargetGroup:
		return p.targetGroups.Create(ctx, seen, s.Group)
	case plan.ModifyTargetGroup:
		return plan.Result{}, p.targetGroups.Modify(ctx, seen, s.Group)
	case plan.RegisterTargets:
		return plan.Result{}, p.targetGroups.RegisterSome(ctx, seen.Key, s.Group, s.Targets)
	case plan.AwaitTargets:
		return plan.Result{}, p.targetGroups.AwaitHealthy(ctx, seen.Key, s.Group)
	case plan.DeleteTargetGroup:
		return plan.Result{}, p.targetGroups.Delete(ctx, seen, s.Group)
	case plan.CreateListener:
		return p.listeners.Create(ctx, seen, s.Listener)
	case plan.ModifyListener:
		return plan.Result{}, p.listeners.Modify(ctx, seen, s.Listener)
	case plan.AttachCertificate:
		return plan.Result{}, p.listeners.AttachCertificate(ctx, seen, s.Port, s.Certificate)
	case plan.DetachCertificate:
		return plan.Result{}, p.listeners.DetachCertificate(ctx, seen, s.Port, s.Certificate)
	case plan.DeleteListener:
		return plan.Result{}, p.listeners.Delete(ctx, seen, s.Port)
	case plan.CreateRule:
		return p.listeners.CreateRule(ctx, seen, s)
	case plan.ModifyRule:
		return plan.Result{}, p.listeners.ModifyRule(ctx, seen, s)
	case plan.DeleteRule:
		return plan.Result{}, p.listeners.DeleteRule(ctx, seen, s)
	case plan.RespaceRules:
		return plan.Result{}, p.listeners.RespaceRules(ctx, seen, s)
	}
	return plan.Result{}, fmt.Errorf("step %s is not known", step.Op())
}

// deleteLoadBalancer deletes a load balancer, and forgets it.
func (p *Provider) deleteLoadBalancer(ctx context.Context, seen *lb.Observed) error {
	if !seen.Exists {
		return nil
	}
	if err := p.balancers.Delete(ctx, seen); err != nil {
		return err
	}
	for _, known := range p.memories() {
		known.Forget(seen.Key, seen.Handle)
	}
	return nil
}

// A memory caches data of load balancers.
type memory interface {
	// Forget forgets a load balancer that was deleted.
	Forget(key lb.Key, arn string)
}

// memories returns the collaborators that cache data of load balancers.
func (p *Provider) memories() []memory {
	return []memory{p.balancers, p.firewalls, p.releases, p.webACLs}
}
