package aws

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"golang.org/x/sync/errgroup"

	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/resource"
	"fairlead.dev/fairlead/providers/aws/throttle"
)

// This file reads the attributes of a load balancer back.

// readAttributes reads the attributes that this operator wrote, on a deep read, in parallel.
func readAttributes(ctx context.Context, api *elbapi.Client, l *look) error {
	if !l.deep {
		return nil
	}
	of := map[string]attributes{}
	if l.balancer != nil {
		of[aws.ToString(l.balancer.LoadBalancerArn)] = balancerAttributes(api)
	}
	for _, listener := range l.listeners {
		of[aws.ToString(listener.ListenerArn)] = listenerAttributes(api)
	}
	for _, g := range l.groups {
		of[aws.ToString(g.TargetGroupArn)] = groupAttributes(api)
	}
	arns := slices.DeleteFunc(slices.Sorted(maps.Keys(of)), func(arn string) bool { return !slices.ContainsFunc(resource.WrittenIn(l.tags[arn]), isAttribute) })
	found, failed := make([][]attribute, len(arns)), make([]error, len(arns))
	var reads errgroup.Group
	reads.SetLimit(throttle.AtOnce)
	for i, arn := range arns {
		reads.Go(func() error {
			failed[i] = providers.Safely(ctx, func() (err error) {
				found[i], err = of[arn].read(ctx, arn)
				return err
			})()
			return failed[i]
		})
	}
	_ = reads.Wait() // failed has the error of each
	var unread []string
	var first error
	for i, arn := range arns {
		if failed[i] != nil {
			l.assumed[arn] = true
			unread, first = append(unread, arn), cmp.Or(first, failed[i])
			continue
		}
		written := resource.WrittenIn(l.tags[arn])
		for _, a := range found[i] {
			if slices.Contains(written, aws.ToString(a.Key)) {
				l.attributes[arn] = with(l.attributes[arn], aws.ToString(a.Key), aws.ToString(a.Value))
			}
		}
	}
	return awserr.Explain("reading the attributes of "+strings.Join(unread, ", "), first)
}
