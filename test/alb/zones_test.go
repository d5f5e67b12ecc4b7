package alb

import (
	"errors"
	"slices"
	"strings"
	"testing"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/test/albsim"
)

// This file stands in zones, and beside security groups, that AWS refuses.

// TestAZoneWithoutLoadBalancersIsLeftOut has AWS offer none in one of three zones.
func TestAZoneWithoutLoadBalancersIsLeftOut(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		w.sim.BarZone(albsim.Region + "a")
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		w.settle()
		if b, _, _ := w.balancer(); !slices.Equal(subnetsOf(b), private(1, 2)) || len(w.rejections) > 0 {
			t.Errorf("it stands in %v, and AWS refuses %v", subnetsOf(b), w.rejections)
		}
		w.rests("the zone was left out")
	})
}

// TestAZoneWithoutLoadBalancersThatIsNamedIsTold names the subnet of such a zone.
func TestAZoneWithoutLoadBalancersThatIsNamedIsTold(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		w.sim.BarZone(albsim.Region + "a")
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		w.class(func(s *spec) { s.Subnets = private(0, 1) })
		_, _, _ = w.reconcile()
		if _, _, err := w.reconcile(); !errors.Is(err, providers.ErrRejected) || !strings.Contains(err.Error(), "name subnets of other zones") {
			t.Errorf("it says: %v", err)
		}
	})
}

// TestOneFullGroupOfTheClusterKeepsNoTargetsAway has a second group with the cluster's tag, as
// cloud-provider-aws makes them, that has no room for another rule.
func TestOneFullGroupOfTheClusterKeepsNoTargetsAway(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		w.sim.AddNodeGroup("sg-0aa00000000000001", func(g *ec2types.SecurityGroup) {
			for i := range int32(60) {
				g.IpPermissions = append(g.IpPermissions, permissions(look.Grant{Port: 1000 + i, Source: "10.0.0.0/8"})...)
			}
		})
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		w.settle()
		w.leadsTo("web")
		if said := w.about(diag.NetworkUnmet); len(said) != 1 || !strings.Contains(said[0].Message, "sg-0aa00000000000001") {
			t.Errorf("it says %v", said)
		}
	})
}
