package alb

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2 "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/albsim"
)

// This file serves IPv6: load balancers with addresses of both families, in subnets that have them,
// and Services of a cluster whose pods have IPv6 addresses only.

// sixIn gives subnets ranges of IPv6 addresses.
func (w *world) sixIn(ids ...string) {
	for i, id := range ids {
		w.sim.ChangeSubnet(id, func(s *ec2.Subnet) {
			s.Ipv6CidrBlockAssociationSet = []ec2.SubnetIpv6CidrBlockAssociation{{
				Ipv6CidrBlock:      sdk.String(fmt.Sprintf("2001:db8:%x::/64", i+1)),
				Ipv6CidrBlockState: &ec2.SubnetCidrBlockState{State: ec2.SubnetCidrBlockStateCodeAssociated},
			}}
		}, nil)
	}
}

// six makes a Service have IPv6 addresses only.
func (w *world) six(name string) {
	at := slices.IndexFunc(w.Services, func(s *corev1.Service) bool { return s.Name == name })
	w.Services[at] = w.Services[at].DeepCopy()
	w.Services[at].Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol}
	slice := w.EndpointSlices[at].DeepCopy()
	slice.AddressType = discoveryv1.AddressTypeIPv6
	for i := range slice.Endpoints {
		slice.Endpoints[i].Addresses = []string{fmt.Sprintf("2001:db8:1::%x", i+1)}
	}
	w.EndpointSlices[at] = slice
}

func subnetsOf(b elb.LoadBalancer) (out []string) {
	for _, z := range b.AvailabilityZones {
		out = append(out, sdk.ToString(z.SubnetId))
	}
	return slices.Sorted(slices.Values(out))
}

// TestDualStackStandsInSubnetsWithIPv6 has, in each zone, a subnet without IPv6 whose ID is lower.
func TestDualStackStandsInSubnetsWithIPv6(t *testing.T) {
	role := map[string]string{"kubernetes.io/role/internal-elb": "1"}
	for name, first := range map[string]string{"from the start": "dualstack", "changed": ""} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, usual())
				for i, zone := range []string{"a", "b", "c"} {
					w.sim.AddSubnet("subnet-a"+zone, albsim.Region+zone, fmt.Sprintf("10.0.%d.0/24", 200+i), role)
				}
				w.sixIn(private(0, 1, 2)...)
				w.service("web", 1)
				w.serve("site", map[string]string{"/": "web"})
				w.class(func(s *spec) { s.IPFamily = first })
				w.settle()
				w.class(func(s *spec) { s.IPFamily = "dualstack" })
				w.settle()
				b, _, _ := w.balancer()
				if got := subnetsOf(b); b.IpAddressType != elb.IpAddressTypeDualstack || !slices.Equal(got, private(0, 1, 2)) {
					t.Errorf("it is %s in %v", b.IpAddressType, got)
				}
				w.rests("the change")
				w.class(func(s *spec) { s.IPFamily = "" })
				w.settle()
				if b, _, _ := w.balancer(); b.IpAddressType != elb.IpAddressTypeIpv4 {
					t.Errorf("it is %s", b.IpAddressType)
				}
			})
		})
	}
}

// TestWithoutIPv6InTwoZonesItIsSaid asks for addresses that too few subnets have.
func TestWithoutIPv6InTwoZonesItIsSaid(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		w.sixIn(private(0)...)
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		w.class(func(s *spec) { s.IPFamily = "dualstack" })
		_, built, err := w.reconcile()
		if !errors.Is(err, providers.ErrRejected) || !slices.ContainsFunc(built.Diagnostics, func(d diag.Diagnostic) bool {
			return d.Reason == diag.NetworkUnmet && strings.Contains(d.Message, "has an associated IPv6 CIDR")
		}) {
			t.Errorf("it says %v (%v)", built.Diagnostics, err)
		}
	})
}

// TestServicesOfAnIPv6ClusterAreServed has pods with IPv6 addresses only: they are served by a load
// balancer with both families, and refused, with what to do, by one that has IPv4 alone. Its other
// routes are served, and it can be changed to either.
func TestServicesOfAnIPv6ClusterAreServed(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		w.sixIn(private(0, 1, 2)...)
		w.service("web", 1)
		w.service("old", 1)
		w.six("web")
		w.serve("site", map[string]string{"/": "web", "/old": "old"})
		for _, family := range []string{"", "dualstack", "ipv4", "dualstack"} {
			w.class(func(s *spec) { s.IPFamily = family })
			w.settle()
			refused := w.about(diag.IPFamilyRefused)
			if serves := family == "dualstack"; serves != (len(refused) == 0) {
				t.Fatalf("as %q it says %v", family, refused)
			}
			if len(w.rejections) > 0 {
				t.Errorf("AWS refuses %v", w.rejections)
			}
			var groups []string
			out, err := elbapi.NewFromConfig(w.sim.OwnersConfig()).DescribeTargetGroups(w.Context(), &elbapi.DescribeTargetGroupsInput{})
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range out.TargetGroups {
				groups = append(groups, string(g.IpAddressType))
			}
			slices.Sort(groups)
			want := []string{"ipv4"}
			if family == "dualstack" {
				want = append(want, "ipv6")
			}
			if !slices.Equal(groups, want) {
				t.Errorf("as %q there are target groups %v, want %v", family, groups, want)
			}
			if b, _, _ := w.balancer(); b.IpAddressType == elb.IpAddressTypeDualstack != (family == "dualstack") {
				t.Errorf("as %q it is %s", family, b.IpAddressType)
			}
		}
	})
}
