package preflight

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/network"
	"fairlead.dev/fairlead/providers/trials"
	"fairlead.dev/fairlead/test/awscalls"
)

// A yard is an account with the resources of runs, and of others.
type yard struct {
	*Trials
	aws     awscalls.Answers
	refuse  map[string]error // calls, by their names, or with the resource behind them
	deleted []string
}

// ownersOf are the installations of resources, by what is last in their ARNs and IDs.
var ownersOf = map[string]string{"one": "prove-one", "two": "prove-two", "three": "prove-three", "else": "shop", "": ""}

func ownerOf(id string) string { return ownersOf[id[strings.LastIndexAny(id, "/-")+1:]] }

func (y *yard) remove(call, id string) error {
	if err := y.refuse[call+" "+id]; err != nil {
		return err
	}
	y.deleted = append(y.deleted, id)
	return nil
}

func newYard(installation string) *yard {
	y := &yard{refuse: map[string]error{}}
	c := client.NewClients(y.aws.Config(), installation, "vpc-1")
	y.Trials = NewTrials(c, network.NewSecurityGroups(c.Owner, c.EC2, "vpc-1", client.NewRecent(0, nil)), nil, lag)
	y.answerLists()
	y.answerCertificates()
	y.answerGroups()
	return y
}

// answerLists has load balancers and target groups, on two pages each. What has another name than
// ours is not asked for its tags.
func (y *yard) answerLists() {
	awscalls.On(&y.aws, func(in *elbapi.DescribeLoadBalancersInput) (*elbapi.DescribeLoadBalancersOutput, error) {
		named := func(name, id string) elb.LoadBalancer {
			return elb.LoadBalancer{LoadBalancerName: aws.String(name), LoadBalancerArn: aws.String(id)}
		}
		if in.Marker == nil {
			return &elbapi.DescribeLoadBalancersOutput{LoadBalancers: []elb.LoadBalancer{named("fl-one", "lb/one"), named("web", "lb/two")}, NextMarker: aws.String("more")}, nil
		}
		return &elbapi.DescribeLoadBalancersOutput{LoadBalancers: []elb.LoadBalancer{named("fl-else", "lb/else")}}, y.refuse["DescribeLoadBalancers"]
	})
	awscalls.On(&y.aws, func(in *elbapi.DescribeTargetGroupsInput) (*elbapi.DescribeTargetGroupsOutput, error) {
		named := func(name, id string) elb.TargetGroup {
			return elb.TargetGroup{TargetGroupName: aws.String(name), TargetGroupArn: aws.String(id)}
		}
		if in.Marker == nil {
			return &elbapi.DescribeTargetGroupsOutput{TargetGroups: []elb.TargetGroup{named("fl-one", "tg/one"), named("web", "tg/three")}, NextMarker: aws.String("more")}, nil
		}
		return &elbapi.DescribeTargetGroupsOutput{TargetGroups: []elb.TargetGroup{named("fl-two", "tg/two")}}, y.refuse["DescribeTargetGroups"]
	})
	awscalls.On(&y.aws, func(in *elbapi.DescribeTagsInput) (*elbapi.DescribeTagsOutput, error) {
		out := &elbapi.DescribeTagsOutput{}
		for _, arn := range in.ResourceArns {
			out.TagDescriptions = append(out.TagDescriptions, elb.TagDescription{ResourceArn: aws.String(arn), Tags: []elb.Tag{{Key: aws.String(client.TagInstallation), Value: aws.String(ownerOf(arn))}}})
		}
		return out, y.refuse["DescribeTags"]
	})
	awscalls.On(&y.aws, func(in *elbapi.DeleteLoadBalancerInput) (*elbapi.DeleteLoadBalancerOutput, error) {
		return &elbapi.DeleteLoadBalancerOutput{}, y.remove("DeleteLoadBalancer", *in.LoadBalancerArn)
	})
	awscalls.On(&y.aws, func(in *elbapi.DeleteTargetGroupInput) (*elbapi.DeleteTargetGroupOutput, error) {
		return &elbapi.DeleteTargetGroupOutput{}, y.remove("DeleteTargetGroup", *in.TargetGroupArn)
	})
}

func (y *yard) answerCertificates() {
	awscalls.On(&y.aws, func(in *acm.ListCertificatesInput) (*acm.ListCertificatesOutput, error) {
		of := func(host, id string) acmtypes.CertificateSummary {
			return acmtypes.CertificateSummary{DomainName: aws.String(host), CertificateArn: aws.String(id)}
		}
		if in.NextToken == nil {
			return &acm.ListCertificatesOutput{CertificateSummaryList: []acmtypes.CertificateSummary{of(trials.Host, "cert/three"), of("example.com", "cert/one"), of(trials.Host, "cert/else")}, NextToken: aws.String("more")}, nil
		}
		return &acm.ListCertificatesOutput{CertificateSummaryList: []acmtypes.CertificateSummary{of(trials.Host, "cert/one")}}, y.refuse["ListCertificates"]
	})
	awscalls.On(&y.aws, func(in *acm.ListTagsForCertificateInput) (*acm.ListTagsForCertificateOutput, error) {
		tags := []acmtypes.Tag{{Key: aws.String(client.TagInstallation), Value: aws.String(ownerOf(*in.CertificateArn))}}
		return &acm.ListTagsForCertificateOutput{Tags: tags}, y.refuse["ListTagsForCertificate "+*in.CertificateArn]
	})
	awscalls.On(&y.aws, func(in *acm.DeleteCertificateInput) (*acm.DeleteCertificateOutput, error) {
		return &acm.DeleteCertificateOutput{}, y.remove("DeleteCertificate", *in.CertificateArn)
	})
}

// answerGroups has security groups. A filter that it does not heed gives those of others, too.
func (y *yard) answerGroups() {
	awscalls.On(&y.aws, func(in *ec2.DescribeSecurityGroupsInput) (*ec2.DescribeSecurityGroupsOutput, error) {
		out := &ec2.DescribeSecurityGroupsOutput{}
		for _, id := range []string{"sg-one", "sg-else"} {
			out.SecurityGroups = append(out.SecurityGroups, ec2types.SecurityGroup{GroupId: aws.String(id), Tags: []ec2types.Tag{{Key: aws.String(client.TagInstallation), Value: aws.String(ownerOf(id))}}})
		}
		return out, y.refuse["DescribeSecurityGroups"]
	})
	awscalls.On(&y.aws, func(in *ec2.DeleteSecurityGroupInput) (*ec2.DeleteSecurityGroupOutput, error) {
		return &ec2.DeleteSecurityGroupOutput{}, y.remove("DeleteSecurityGroup", *in.GroupId)
	})
}

func TestSweep(t *testing.T) {
	all := []string{"lb/one", "tg/one", "cert/one", "sg-one"}
	for name, c := range map[string]struct {
		installation string
		refuse       map[string]error
		want         []string // found
		deleted      []string
		failure      string
	}{
		"all of a run":                {installation: "prove-one", want: all, deleted: all},
		"another run":                 {installation: "prove-three", want: []string{"cert/three"}, deleted: []string{"cert/three"}},
		"no run":                      {installation: "shop"},
		"a load balancer that stays":  {installation: "prove-one", refuse: map[string]error{"DeleteLoadBalancer lb/one": internalFailure}, want: append([]string{"lb/one (InternalFailure: no)"}, all[1:]...), deleted: all[1:]},
		"a certificate that is gone":  {installation: "prove-one", refuse: map[string]error{"ListTagsForCertificate cert/one": awscalls.Refused("ResourceNotFoundException", "no")}, want: []string{"lb/one", "tg/one", "sg-one"}, deleted: []string{"lb/one", "tg/one", "sg-one"}},
		"load balancers are not read": {installation: "prove-one", refuse: map[string]error{"DescribeLoadBalancers": internalFailure}, want: all[1:], deleted: all[1:], failure: "listing load balancers: InternalFailure: no"},
		"target groups are not read":  {installation: "prove-one", refuse: map[string]error{"DescribeTargetGroups": internalFailure}, want: []string{"lb/one", "cert/one", "sg-one"}, deleted: []string{"lb/one", "cert/one", "sg-one"}, failure: "listing target groups: InternalFailure: no"},
		"tags are not read":           {installation: "prove-one", refuse: map[string]error{"DescribeTags": internalFailure}, want: all[2:], deleted: all[2:], failure: "reading tags: InternalFailure: no\nreading tags: InternalFailure: no"},
		"security groups are not read": {
			installation: "prove-one", refuse: map[string]error{"DescribeSecurityGroups": internalFailure}, want: all[:3], deleted: all[:3], failure: "reading security groups: InternalFailure: no",
		},
		"tags of a certificate are not read": {
			installation: "prove-one", refuse: map[string]error{"ListTagsForCertificate cert/three": internalFailure}, want: all, deleted: all,
			failure: "reading the tags of cert/three, which has the host of such runs: InternalFailure: no",
		},
		"certificates are not read to the end": {
			installation: "prove-three", refuse: map[string]error{"ListCertificates": internalFailure, "ListTagsForCertificate cert/else": internalFailure}, want: []string{"cert/three"}, deleted: []string{"cert/three"},
			failure: "reading the tags of cert/else, which has the host of such runs: InternalFailure: no\nlisting certificates: InternalFailure: no",
		},
	} {
		y := newYard(c.installation)
		if c.refuse != nil {
			y.refuse = c.refuse
		}
		found, err := y.Sweep(t.Context())
		if !slices.Equal(found, c.want) || !slices.Equal(y.deleted, c.deleted) {
			t.Errorf("%s: found are %q, want %q; deleted are %q, want %q", name, found, c.want, y.deleted, c.deleted)
		}
		if (err != nil) != (c.failure != "") || err != nil && err.Error() != c.failure {
			t.Errorf("%s: the error is %v, want %s", name, err, c.failure)
		}
	}
}

func TestInstallationsOfRuns(t *testing.T) {
	y := newYard("shop")
	got, err := y.Installations(t.Context())
	awscalls.ExpectError(t, "installations", err, nil)
	awscalls.Expect(t, "installations", got, []string{"prove-one", "prove-three", "prove-two"})
	y.refuse["DescribeTags"] = internalFailure
	got, err = y.Installations(t.Context())
	awscalls.ExpectError(t, "tags that are not read", err, internalFailure)
	awscalls.Expect(t, "tags that are not read", got, nil)
}
