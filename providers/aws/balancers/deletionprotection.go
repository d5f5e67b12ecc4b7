package balancers

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
)

// This file reads whether load balancers have deletion protection.

// ObserveProtection reads whether a load balancer has deletion protection. It makes no call unless
// its class has asked for the protection, or AWS refused to delete the load balancer.
func (bs *Store) ObserveProtection(
	ctx context.Context, l *look.Look, _ map[string]map[string]string,
) error {
	if l.Balancer == nil {
		return nil
	}
	arn := aws.ToString(l.Balancer.LoadBalancerArn)
	ours := slices.Contains(client.WrittenIn(l.Tags[arn]), lb.DeletionProtection)
	bs.mu.Lock()
	undeletable := bs.undeletable[arn]
	bs.mu.Unlock()
	if !ours && !undeletable {
		return nil
	}
	all, err := look.OfLoadBalancers(bs.ELB, "").Read(ctx, arn)
	if err != nil { // its class has asked for it, or AWS refused to delete it
		l.Protected = lb.ByOthers
		if ours {
			l.Protected = lb.ByClass
		}
		return client.Explain("reading the attributes of "+arn, err)
	}
	set := slices.ContainsFunc(all, func(a look.Attribute) bool {
		return aws.ToString(a.Key) == lb.DeletionProtection && aws.ToString(a.Value) == "true"
	})
	switch {
	case set && ours:
		l.Protected = lb.ByClass
	case set:
		l.Protected = lb.ByOthers
	}
	return nil
}
