package targets

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file reads target groups that others made, in which endpoints are to be registered.

// LookUp adds the target groups that exist to the facts. AWS answers with an error if one of several does
// not (https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_DescribeTargetGroups.html), so
// it is asked about one at a time.
func (gs *Store) LookUp(ctx context.Context, groups []lb.GroupID, facts *lb.Facts) error {
	facts.TargetGroups = map[lb.GroupID]lb.OthersGroup{}
	for _, group := range groups {
		arn := string(group)
		out, err := gs.ELB.DescribeTargetGroups(ctx, &elbapi.DescribeTargetGroupsInput{TargetGroupArns: []string{arn}})
		if client.HasCode(err, "TargetGroupNotFound") {
			continue
		}
		if err != nil {
			return client.Explain("reading target group "+arn, err)
		}
		found, err := client.RequireOne(out.TargetGroups, "DescribeTargetGroups", "target group "+arn)
		if err != nil {
			return err
		}
		tags, err := gs.TagsOf(ctx, []string{arn})
		if err != nil {
			return err
		}
		is := lb.OthersGroup{TargetType: string(found.TargetType), Protocol: string(found.Protocol),
			Family: cmp.Or(string(found.IpAddressType), "ipv4"), VPC: aws.ToString(found.VpcId)}
		if key := client.KeyIn(tags[arn]); key != "" {
			is.Kept = fmt.Sprintf("the target group belongs to load balancer %s of Fairlead", key)
		}
		// The controller has its tags on what it makes for itself: pkg/deploy/tracking/provider.go.
		if isStack(tags[arn]) {
			is.Kept = "the AWS Load Balancer Controller made the target group for itself"
		}
		facts.TargetGroups[group] = is
	}
	return nil
}

// isStack reports whether tags are of what the AWS Load Balancer Controller makes.
func isStack(tags map[string]string) bool {
	for tag := range tags {
		if strings.Contains(tag, ".k8s.aws") && strings.HasSuffix(tag, "/stack") {
			return true
		}
	}
	return false
}
