package look

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
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file reads the attributes of a load balancer back.

// ReadAttributes reads the attributes that this operator wrote, on a deep read, in parallel.
func ReadAttributes(ctx context.Context, api *elbapi.Client, l *Look) error {
	if !l.Deep {
		return nil
	}
	of := map[string]Kind{}
	if l.Balancer != nil {
		of[aws.ToString(l.Balancer.LoadBalancerArn)] = OfLoadBalancers(api, l.Balancer.Scheme)
	}
	for _, listener := range l.Listeners {
		of[aws.ToString(listener.ListenerArn)] = OfListeners(api)
	}
	for _, g := range l.Groups {
		of[aws.ToString(g.TargetGroupArn)] = OfTargetGroups(api)
	}
	arns := slices.DeleteFunc(slices.Sorted(maps.Keys(of)), func(arn string) bool {
		return !slices.ContainsFunc(client.WrittenIn(l.Tags[arn]), isAttribute)
	})
	found, failed := make([][]Attribute, len(arns)), make([]error, len(arns))
	var reads errgroup.Group
	reads.SetLimit(client.ParallelReads)
	for i, arn := range arns {
		reads.Go(func() error {
			failed[i] = providers.CatchPanics(ctx, func() (err error) {
				found[i], err = of[arn].Read(ctx, arn)
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
			l.Assumed[arn] = true
			unread, first = append(unread, arn), cmp.Or(first, failed[i])
		}
		written := client.WrittenIn(l.Tags[arn])
		for _, a := range found[i] {
			if slices.Contains(written, aws.ToString(a.Key)) {
				l.Attributes[arn] = With(l.Attributes[arn], aws.ToString(a.Key), aws.ToString(a.Value))
			}
		}
	}
	return client.Explain("reading the attributes of "+strings.Join(unread, ", "), first)
}
