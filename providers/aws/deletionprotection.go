package aws

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/resource"
)

// This file reads whether load balancers have deletion protection.

// deletionProtection is the attribute that keeps a load balancer from being deleted.
const deletionProtection = "deletion_protection.enabled"

// observeProtection reads whether a load balancer has deletion protection, where its class ever
// asked for it, or AWS refused to delete the load balancer.
func (bs *balancers) observeProtection(ctx context.Context, l *look, _ map[string]map[string]string) error {
	if l.balancer == nil {
		return nil
	}
	arn := aws.ToString(l.balancer.LoadBalancerArn)
	ours := slices.Contains(resource.WrittenIn(l.tags[arn]), deletionProtection)
	bs.mu.Lock()
	undeletable := bs.undeletable[arn]
	bs.mu.Unlock()
	if !ours && !undeletable {
		return nil
	}
	all, err := balancerAttributes(bs.ELB).read(ctx, arn)
	if err != nil { // its class asked for it once, or AWS refused to delete it
		l.protected = lb.ByOthers
		if ours {
			l.protected = lb.ByClass
		}
		return awserr.Explain("reading the attributes of "+arn, err)
	}
	set := slices.ContainsFunc(all, func(a attribute) bool {
		return aws.ToString(a.Key) == deletionProtection && aws.ToString(a.Value) == "true"
	})
	switch {
	case set && ours:
		l.protected = lb.ByClass
	case set:
		l.protected = lb.ByOthers
	}
	return nil
}
