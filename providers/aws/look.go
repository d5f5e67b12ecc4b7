package aws

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
)

// This file holds what an observation reads of one load balancer.

// A look is the load balancer under a key, as it is being read.
type look struct {
	key        lb.Key
	owns       func(tags map[string]string) bool
	deep       bool
	balancer   *elb.LoadBalancer
	another    bool // one that is not ours has the name
	listeners  []elb.Listener
	rules      map[string][]elb.Rule // by listener
	served     map[string][]elb.Certificate
	groups     []elb.TargetGroup
	health     map[string][]lb.TargetHealth // by target group
	tags       map[string]map[string]string
	imported   map[string]lb.ObservedCertificate // by ARN
	attributes map[string]map[string]string      // those that were written, looked at deeply, by ARN
	protection lb.Protection
	protected  string
	firewall   string
	bare       bool              // whether there is to be a firewall, and none is found
	fenced     bool              // looked at deeply, whether it has the security groups that it should have
	shared     string            // looked at deeply, the security group that all load balancers have
	cutOff     bool              // looked at deeply, whether the nodes do not admit it on a port that it needs
	grants     []grant           // looked at deeply, those of its firewall
	fenceTags  map[string]string // looked at deeply, those of its firewall
	unread     []string          // why settings could not be read
	assumed    map[string]bool   // by ARN, whether settings of it could not be read
}

// A reader reads a part of it. It is given the resources that the index of tags lists.
type reader func(ctx context.Context, l *look, strewn map[string]map[string]string) error

// arns are those of a load balancer, of its listeners and of their rules.
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

// ours reports whether something is this load balancer, or was made for it.
func (l *look) ours(arn *string) bool { return l.owns(l.tags[aws.ToString(arn)]) }

// idOf is the ID of a target group; its ARN, which nobody can want, where it is somebody else's.
func (l *look) idOf(arn string) lb.GroupID {
	if tags := l.tags[arn]; l.owns(tags) && tags[tagGroup] != "" {
		return lb.GroupID(tags[tagGroup])
	}
	return lb.GroupID(arn)
}

// serves reports whether a listener serves a certificate.
func (l *look) serves(arn string) bool {
	for _, served := range l.served {
		if slices.ContainsFunc(served, func(c elb.Certificate) bool { return aws.ToString(c.CertificateArn) == arn }) {
			return true
		}
	}
	return false
}

// certificateID is the ID of a certificate: our own, or what AWS calls it.
func (l *look) certificateID(arn string) lb.CertificateID {
	if c, ours := l.imported[arn]; ours {
		return c.ID
	}
	return lb.CertificateID(arn)
}
