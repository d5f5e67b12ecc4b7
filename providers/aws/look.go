package aws

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/resource"
)

// This file holds what an observation reads of one load balancer.

// A look is the load balancer of a key, as an observation reads it. A deep look computes the digest
// of the live settings; any other look uses the digest in the tag.
type look struct {
	key             lb.Key
	owns            func(tags map[string]string) bool
	deep            bool
	balancer        *elb.LoadBalancer
	another         bool // a load balancer that is not ours has the name
	listeners       []elb.Listener
	rules           map[string][]elb.Rule             // by listener
	served          map[string][]elb.Certificate      // by listener
	groups          []elb.TargetGroup                 // those of the load balancer, and ours that it does not use
	health          map[string][]lb.TargetHealth      // by target group
	tags            map[string]map[string]string      // by ARN
	imported        map[string]lb.ObservedCertificate // by ARN
	protection      lb.Protection
	protected       string // lb.ByClass or lb.ByOthers, where it has deletion protection
	firewall        string
	firewallMissing bool            // the load balancer should have a firewall, and none was found
	unread          []string        // why settings could not be read
	assumed         map[string]bool // ARNs whose settings could not be read

	// Only a deep look has these.
	attributes   map[string]map[string]string // those that were written, by ARN
	groupsRight  bool                         // whether it has the security groups that it should have
	shared       string                       // the security group that all load balancers share
	nodesClosed  bool                         // the nodes do not admit it on a port that it needs
	grants       []grant                      // of its firewall
	firewallTags map[string]string
}

// A reader reads a part of a look. It is given the resources that the index of tags lists.
type reader func(ctx context.Context, l *look, indexed map[string]map[string]string) error

// arns returns the ARNs of a load balancer, of its listeners and of their rules.
func (l *look) arns() map[string]bool {
	out := map[string]bool{}
	if l.balancer != nil {
		out[aws.ToString(l.balancer.LoadBalancerArn)] = true
	}
	for _, listener := range l.listeners {
		out[aws.ToString(listener.ListenerArn)] = true
	}
	for _, rules := range l.rules {
		for _, r := range rules {
			out[aws.ToString(r.RuleArn)] = true
		}
	}
	return out
}

// ours reports whether a resource is this load balancer, or was created for it.
func (l *look) ours(arn *string) bool { return l.owns(l.tags[aws.ToString(arn)]) }

// idOf returns the ID of a target group. For one that is not ours, it returns the ARN, which no
// wanted target group has as its ID.
func (l *look) idOf(arn string) lb.GroupID {
	if tags := l.tags[arn]; l.owns(tags) && tags[resource.TagGroup] != "" {
		return lb.GroupID(tags[resource.TagGroup])
	}
	return lb.GroupID(arn)
}

// servedARNs returns the ARNs of the certificates that listeners serve.
func (l *look) servedARNs() []string {
	var out []string
	for _, served := range l.served {
		for _, c := range served {
			out = append(out, aws.ToString(c.CertificateArn))
		}
	}
	return out
}

// certificateID returns the ID of a certificate: ours, or its ARN.
func (l *look) certificateID(arn string) lb.CertificateID {
	if c, ours := l.imported[arn]; ours {
		return c.ID
	}
	return lb.CertificateID(arn)
}
