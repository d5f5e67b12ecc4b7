package adoption

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/moto"
)

// This file has the life of a group in an emulator of AWS that others have written.

// newOnMoto is a site in an account of moto, with two nodes.
func newOnMoto(t *testing.T, account *moto.Account, objects string) *site {
	t.Helper()
	net := ec2.NewFromConfig(account.Config)
	group, err := net.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("nodes"), Description: aws.String("of nodes"), VpcId: aws.String(account.VPC),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup,
			Tags: []ec2types.Tag{{Key: aws.String("kubernetes.io/cluster/" + albsim.Cluster), Value: aws.String("owned")}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"a", "b"} {
		address := fmt.Sprintf("10.0.%d.10", 2*i+1)
		made, err := net.RunInstances(t.Context(), &ec2.RunInstancesInput{ImageId: aws.String("ami-12c6146b"), MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
			SubnetId: aws.String(account.Private[i]), PrivateIpAddress: aws.String(address), SecurityGroupIds: []string{*group.GroupId}})
		if err != nil {
			t.Fatal(err)
		}
		objects = strings.ReplaceAll(objects, "i-0000000000000000"+name, *made.Instances[0].InstanceId)
		objects = strings.ReplaceAll(objects, fmt.Sprintf("10.0.10%d.10", i), address)
	}
	return newSiteIn(t, objects, place{ours: account.Mended(), theirs: account.Mended(), vpc: account.VPC})
}

// ruleNumber is the end of the ARN of a rule, which is another one once the rule is made again.
var ruleNumber = regexp.MustCompile(`^(rule \S+/)\w+ `)

// withoutRuleNumbers returns an inventory in which rules have no numbers of their own.
func withoutRuleNumbers(lines []string) []string {
	out := slices.Clone(lines)
	for i, l := range out {
		out[i] = ruleNumber.ReplaceAllString(l, "$1 ")
	}
	slices.Sort(out)
	return out
}

// TestTheLifeOfAGroupOnMoto: a group of several Ingresses is taken over, changed and given back, and all is as it was.
func TestTheLifeOfAGroupOnMoto(t *testing.T) {
	group := map[string]string{"group.name": "all", "target-type": "ip"}
	objects := strings.Replace(base, "  dialect: alb\n", "  dialect: alb\n  regularExpressions: false\n", 1) + // moto knows none
		service("web", 80, 8080, 30080) + service("api", 80, 9090, 30090)
	for i, name := range []string{"one", "two", "three", "four"} {
		objects += theIngress(name, group, fmt.Sprintf("%c.example.com /api Prefix api 80", 'a'+i), fmt.Sprintf("%c.example.com / Prefix web 80", 'a'+i))
	}
	s := newOnMoto(t, moto.Start(t).Account(t), objects)
	s.startTheirs()
	before, inCluster := s.inventory(), s.inCluster()
	s.takeAll()
	s.right("once it is taken over")
	if steps := s.plan(); len(steps) > 0 {
		t.Errorf("once it is taken over, the plan is %q", steps)
	}
	taken := s.inventory()
	s.accident()
	if diff := cmp.Diff(taken, s.inventory()); diff != "" {
		t.Errorf("the controller, started by accident, changed\n%s", diff)
	}
	s.releaseAll()
	if diff := cmp.Diff(less(before, ourShared), s.inventory(ourShared)); diff != "" {
		t.Errorf("once it is given back\n%s", diff)
	}
	if diff := cmp.Diff(inCluster, s.inCluster()); diff != "" {
		t.Errorf("once it is given back, in the cluster\n%s", diff)
	}
	s.startTheirs()

	s.takeAll()
	s.host("two", "b.example.com", "new.example.com")
	for range 3 {
		if err := s.operate(); err != nil {
			t.Fatal(err)
		}
	}
	if steps := s.plan(); len(steps) > 0 {
		t.Errorf("after a change, the plan is %q", steps)
	}
	if diff := cmp.Diff(taken, s.inventory()); diff == "" {
		t.Error("the change of an Ingress changed nothing")
	}
	s.host("two", "new.example.com", "b.example.com")
	s.releaseAll()
	s.startTheirs()
	s.right("once it is given back after a change")
	if diff := cmp.Diff(withoutRuleNumbers(less(before, ourShared)), withoutRuleNumbers(s.inventory(ourShared))); diff != "" {
		t.Errorf("once it is given back after a change\n%s", diff)
	}
}

// host gives an Ingress another host.
func (s *site) host(ingress, from, to string) {
	s.Helper()
	s.asTheirs(func() error {
		ing := &networkingv1.Ingress{}
		if err := s.kube.Get(s.Context(), client.ObjectKey{Namespace: "shop", Name: ingress}, ing); err != nil {
			return err
		}
		for i := range ing.Spec.Rules {
			if ing.Spec.Rules[i].Host == from {
				ing.Spec.Rules[i].Host = to
			}
		}
		return s.kube.Update(s.Context(), ing)
	})
}
