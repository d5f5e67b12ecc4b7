// Package look holds what an observation reads of one load balancer: itself, its listeners and target groups, their
// attributes and tags, and the rules of its security groups.
//
// AWS answers attributes as lists of words, with its defaults among them; this package hides which of them a setting
// comes from, and writes them back.
package look

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/client"
)

// A Look holds what an observation reads of the load balancer of a key. A deep look computes the
// digest of the live settings; any other look uses the digest in the tag.
type Look struct {
	Key       lb.Key
	Owns      func(tags map[string]string) bool
	Deep      bool
	Balancer  *elb.LoadBalancer
	NameTaken bool // a load balancer that is not ours has the name
	Listeners []elb.Listener
	Rules     map[string][]elb.Rule        // by listener
	Served    map[string][]elb.Certificate // by listener
	// target groups of the load balancer, and ours that it does not use
	Groups          []elb.TargetGroup
	Health          map[string][]lb.TargetHealth      // by target group
	Tags            map[string]map[string]string      // by ARN
	Imported        map[string]lb.ObservedCertificate // by ARN
	Protection      lb.Protection
	Protected       string // lb.ByClass or lb.ByOthers, if it has deletion protection
	Firewall        string
	FirewallMissing bool            // the load balancer should have a firewall, and none was found
	Unread          []string        // why settings could not be read
	Assumed         map[string]bool // ARNs whose settings could not be read

	// Only a deep look has these.
	Attributes   map[string]map[string]string // those that were written, by ARN
	GroupsRight  bool                         // whether it has the security groups that it should have
	Shared       string                       // the security group that all load balancers share
	NodesClosed  bool                         // the nodes do not admit it on a port that it needs
	Grants       []Grant                      // of its firewall
	FirewallTags map[string]string
}

// A Reader reads a part of a look. indexed has the resources that the index of tags lists.
type Reader func(ctx context.Context, l *Look, indexed map[string]map[string]string) error

// ARNs returns the ARNs of a load balancer, of its listeners and of their rules.
func (l *Look) ARNs() map[string]bool {
	out := map[string]bool{}
	if l.Balancer != nil {
		out[aws.ToString(l.Balancer.LoadBalancerArn)] = true
	}
	for _, listener := range l.Listeners {
		out[aws.ToString(listener.ListenerArn)] = true
	}
	for _, rules := range l.Rules {
		for _, r := range rules {
			out[aws.ToString(r.RuleArn)] = true
		}
	}
	return out
}

// IsOurs reports whether a resource has the tags of this load balancer.
func (l *Look) IsOurs(arn *string) bool { return l.Owns(l.Tags[aws.ToString(arn)]) }

// IDOf returns the ID of a target group. If the group is not ours, it returns the ARN, which no
// wanted target group has as its ID.
func (l *Look) IDOf(arn string) lb.GroupID {
	if tags := l.Tags[arn]; l.Owns(tags) && tags[client.TagGroup] != "" {
		return lb.GroupID(tags[client.TagGroup])
	}
	return lb.GroupID(arn)
}

// ServedARNs returns the ARNs of the certificates that listeners serve.
func (l *Look) ServedARNs() []string {
	var out []string
	for _, served := range l.Served {
		for _, c := range served {
			out = append(out, aws.ToString(c.CertificateArn))
		}
	}
	return out
}

// CertificateID returns the ID of a certificate: ours, or its ARN.
func (l *Look) CertificateID(arn string) lb.CertificateID {
	if c, ours := l.Imported[arn]; ours {
		return c.ID
	}
	return lb.CertificateID(arn)
}
