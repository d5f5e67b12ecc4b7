package aws

import (
	"context"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/proof"
)

// This file has the methods of the Provider for `fairlead prove`.

// proof returns the proof of this provider.
func (p *Provider) proof() *proof.Proof {
	return proof.New(p.clients, p.securityGroups, subjectOf{p}, p.recent.Lag)
}

// A subjectOf is the subject of a proof.
type subjectOf struct{ *Provider }

func (s subjectOf) LoadBalancer(ctx context.Context, key lb.Key) (*elb.LoadBalancer, error) {
	there, _, err := s.balancers.ReadByKey(ctx, key)
	return there, err
}

// Try tests the assumptions about AWS that need no requests on a load balancer.
func (p *Provider) Try(ctx context.Context, key lb.Key) []check.Finding {
	return p.proof().Try(ctx, key)
}

// Sweep deletes the resources of the installation of a run, and returns those that it found.
func (p *Provider) Sweep(ctx context.Context) (found []string, err error) {
	return p.proof().Sweep(ctx)
}

// Proofs returns the installations of runs that still have resources.
func (p *Provider) Proofs(ctx context.Context) ([]string, error) {
	return p.proof().Installations(ctx)
}
