package operator

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/test/kube"
)

// This file looks at security groups: those of a load balancer and of the nodes behind it, where
// the operator is told the cluster's name, and an account where it is to leave all of them alone.

// admitted are who gets through a security group, and to which port.
func (w *world) admitted(t *testing.T, group string) []string {
	t.Helper()
	found, err := ec2.NewFromConfig(w.config).DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{group}})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	admit := func(port *int32, source *string) {
		out = append(out, fmt.Sprint(aws.ToInt32(port), " ", aws.ToString(source)))
	}
	for _, p := range found.SecurityGroups[0].IpPermissions {
		for _, r := range p.IpRanges {
			admit(p.FromPort, r.CidrIp)
		}
		for _, r := range p.Ipv6Ranges {
			admit(p.FromPort, r.CidrIpv6)
		}
		for _, r := range p.UserIdGroupPairs {
			admit(p.FromPort, r.GroupId)
		}
	}
	slices.Sort(out)
	return out
}

// expectFenced expects that everybody gets through to a load balancer's port, and only the load
// balancer to that of the pods.
func (w *world) expectFenced(t *testing.T, b elb.LoadBalancer) {
	t.Helper()
	if len(b.SecurityGroups) != 2 {
		t.Fatalf("the load balancer has the security groups %v, want its own and the one that is shared", b.SecurityGroups)
	}
	own, shared := b.SecurityGroups[0], b.SecurityGroups[1]
	if len(w.admitted(t, own)) == 0 {
		own, shared = shared, own
	}
	want := map[string][]string{"its own": {"80 0.0.0.0/0", "80 ::/0"}, "shared": nil, "of nodes": {"8080 " + shared}}
	got := map[string][]string{"its own": w.admitted(t, own), "shared": w.admitted(t, shared), "of nodes": w.admitted(t, w.nodes)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("who is admitted by the security groups (-want +got):\n%s", diff)
	}
	if strings.Contains(w.said(t), "--aws-cluster-name") {
		t.Error("the operator says that it opens no nodes, which it does")
	}
}

// said is all that the operators have said.
func (w *world) said(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(w.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSecurityGroupsAreLeftAlone(t *testing.T) {
	t.Parallel()
	for name, account := range map[string]func(*testing.T) account{"albsim": simulated, "moto": emulated} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, account(t))
			w.flags = []string{"--aws-security-groups=none"}
			w.serve(t, "web", "10.0.0.10")
			w.ask(t, path("/", "web"))
			w.replace(t)
			kube.Eventually(t, "the Ingress is served", func() bool { return w.hostname(t, "shop") != "" })
			w.delete(t, &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shop"}})
			kube.Eventually(t, "all that was made is gone", func() bool { return w.ingresses(t) == 0 && w.empty(t) })
			for _, call := range []string{
				"CreateSecurityGroup", "DeleteSecurityGroup", "AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress", "SetSecurityGroups", "CreateTags", "DeleteTags",
			} {
				if n := w.proxy.times(call); n > 0 {
					t.Errorf("%d calls of %s", n, call)
				}
			}

			if strings.Contains(w.said(t), "--aws-cluster-name") {
				t.Error("the operator asks for the cluster's name, for which it has no use")
			}
			w.flags = nil
			w.replace(t)
			kube.Eventually(t, "an operator that is told nothing says what it will not do", func() bool { return strings.Contains(w.said(t), "--aws-cluster-name") })
		})
	}
}
