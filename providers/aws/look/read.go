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
	return readAttributes(ctx, api, l, func(arn, name string) bool {
		written := client.WrittenIn(l.Tags[arn])
		return name == "" && slices.ContainsFunc(written, isAttribute) || slices.Contains(written, name)
	})
}

// ReadAllAttributes reads all attributes, those of others too.
func ReadAllAttributes(ctx context.Context, api *elbapi.Client, l *Look) error {
	return readAttributes(ctx, api, l, func(string, string) bool { return true })
}

// readAttributes reads attributes that are wanted: any of a resource, if its name is "", or one.
func readAttributes(ctx context.Context, api *elbapi.Client, l *Look, wanted func(arn, name string) bool) error {
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
		return !wanted(arn, "")
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
		for _, a := range found[i] {
			if wanted(arn, aws.ToString(a.Key)) {
				l.Attributes[arn] = With(l.Attributes[arn], aws.ToString(a.Key), aws.ToString(a.Value))
			}
		}
	}
	return client.Explain("reading the attributes of "+strings.Join(unread, ", "), first)
}
