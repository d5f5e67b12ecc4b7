package aws

import (
	"context"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/preflight"
	"fairlead.dev/fairlead/providers/trials"
)

// This file has the methods of the Provider for `fairlead prove`.

// trial returns the trial of this provider.
func (p *Provider) trial() *preflight.Trials {
	return preflight.NewTrials(p.clients, p.securityGroups, subjectOf{p}, p.recent.Lag)
}

// A subjectOf is the subject of a trial.
type subjectOf struct{ *Provider }

func (s subjectOf) LoadBalancer(ctx context.Context, key lb.Key) (*elb.LoadBalancer, error) {
	there, _, err := s.balancers.ReadByKey(ctx, key)
	return there, err
}

// Try tests the assumptions about AWS that need no requests on a load balancer.
func (p *Provider) Try(ctx context.Context, key lb.Key) []check.Finding {
	return p.trial().Try(ctx, key)
}

// Sweep deletes the resources of the installation of a run, and returns those that it found.
func (p *Provider) Sweep(ctx context.Context) (found []string, err error) {
	return p.trial().Sweep(ctx)
}

// Installations returns the installations of runs that still have resources.
func (p *Provider) Installations(ctx context.Context) ([]string, error) {
	return p.trial().Installations(ctx)
}

var _ trials.Former = (*Provider)(nil)

// FormerName is the name of the load balancer that a run makes as another controller.
func (p *Provider) FormerName() string { return p.trial().FormerName() }

// MakeFormer makes a load balancer as the AWS Load Balancer Controller makes it.
func (p *Provider) MakeFormer(ctx context.Context, want lb.LoadBalancer) (string, error) {
	return p.trial().MakeFormer(ctx, want)
}

// TryFormer tests the assumptions that taking it over makes.
func (p *Provider) TryFormer(ctx context.Context, handle string) []check.Finding {
	return p.trial().TryFormer(ctx, handle)
}
